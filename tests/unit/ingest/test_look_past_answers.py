"""The newest answers of listed items, whether the snapshot holds them or not."""

from pathlib import Path

from proofsweep.ingest.look import past_answers
from proofsweep.verify.leg.note_leg import note_leg

from ..ended_runs import answered, end_leg, plan_of_run
from .conftest import Watched


def test_answers_are_found_with_and_without_the_snapshot(watched: Watched) -> None:
    """An update of the snapshot may have failed; what failed or is of another environment is no answer."""
    watched.outcomes["b.wav"] = "failed"
    for name in ("a.wav", "b.wav"):
        watched.deliver(name)
    (run_id,) = watched.run_pass(moves=False).report.run_ids
    ids = {Path(item.audio).name: item.item_id for item in watched.results.shard_items(run_id, 0)}

    before = past_answers(watched.results, "beta", ids.values())
    note_leg(watched.results, watched.results.plan(run_id))
    after = past_answers(watched.results, "beta", ids.values())

    assert set(before) == {ids["a.wav"]}
    assert before == after
    assert before[ids["a.wav"]].audio_version
    assert past_answers(watched.results, "production", ids.values()) == {}
    assert past_answers(watched.results, "beta", []) == {}


def test_an_answer_of_a_clock_that_was_ahead_is_older_than_that_of_the_next_leg(watched: Watched) -> None:
    """In the snapshot or not."""
    for run_id, outcome, epoch in (
        ("20300101T120000Z_000aa", "accepted", 0),
        ("20261120T120000Z_000aa", "rejected", 1),
    ):
        plan = plan_of_run(run_id)
        end_leg(watched.results, plan, [answered(plan, 0, "a", outcome, epoch=epoch)])

    before = past_answers(watched.results, "beta", ["a"])
    note_leg(watched.results, plan)
    after = past_answers(watched.results, "beta", ["a"])

    assert [found["a"].outcome for found in (before, after)] == ["rejected", "rejected"]
