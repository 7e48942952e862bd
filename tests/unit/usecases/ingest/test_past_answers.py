"""The newest answers of listed items, whether the snapshot holds them or not."""

from pathlib import Path

from proofsweep.usecases.ingest.past_answers import past_answers
from proofsweep.usecases.upkeep.note_leg import note_leg

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
