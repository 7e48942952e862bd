"""Every row that some leg has finished counts, wherever it lies."""

from pathlib import Path

import pytest

from proofsweep.model.runs import Plan
from proofsweep.store.folder_store import FolderStore
from proofsweep.store.journal import Journal
from proofsweep.store.known_rows import AnswerTimes, are_known_since, known_rows
from proofsweep.store.legs import Legs
from proofsweep.store.plans_and_parts import Results
from proofsweep.verify.leg.note_leg import note_leg

from ..ended_runs import answered, end_leg, plan_of_run

NOTED, MISSED, KILLED = (plan_of_run(f"20261120T12{minute:02}00Z_000aa", 2) for minute in range(3))


@pytest.fixture
def results(tmp_path: Path) -> Results:
    """A store with a leg in the snapshot, one that was not noted, and one whose process was killed."""
    results = Results(FolderStore(tmp_path))
    end_leg(results, NOTED, [answered(NOTED, 0, "noted", audio_version="v1")])
    note_leg(results, NOTED)
    end_leg(results, MISSED, [answered(MISSED, 0, "missed", audio_version="v1")])
    results.write_plan(KILLED)
    Legs(results, KILLED.run_id).claim(1)
    journal = Journal(results, KILLED.run_id, 1, "w")
    journal.add(answered(KILLED, 0, "killed", "rejected", audio_version="v1"), [])
    journal.flush()
    return results


def test_rows_of_the_snapshot_of_parts_and_of_journals_are_known(results: Results) -> None:
    """Each once, unless its leg ended in that very moment; those of another environment are none of it."""
    tables = known_rows(results, "beta", ["item_id"])

    assert sorted(item for table in tables for item in table["item_id"].to_pylist()) == ["killed", "missed", "noted"]
    assert not any(table.num_rows for table in known_rows(results, "production", ["item_id"]))


def test_an_answer_counts_as_soon_as_it_is_in_a_journal(results: Results) -> None:
    """`--since-last` and `--max-age` leave out what a run that was killed has paid for."""
    answered_at = AnswerTimes(results, "beta", ("accepted", "rejected")).of

    assert all(answered_at(item, "v1", None) for item in ("killed", "missed", "noted"))
    assert answered_at("killed", "v2", None) is None


@pytest.mark.parametrize(
    ("run", "items", "are_known"),
    [
        (NOTED, ["missed", "killed"], True),
        (NOTED, ["missed", "new"], False),
        (NOTED, ["noted"], False),  # by itself
        (MISSED, ["noted"], False),  # before
        (KILLED, [], False),  # nobody else has worked since
    ],
)
def test_only_other_runs_since_the_plan_answer_for_a_run(
    results: Results, run: Plan, items: list[str], *, are_known: bool
) -> None:
    """Its own rows do not, nor do older ones."""
    assert are_known_since(results, run, items) is are_known


def test_a_clock_that_was_ahead_makes_no_answer_newer(results: Results) -> None:
    """What it said is older than each run that began after it had ended, and than their answers."""
    ahead, stopped = plan_of_run("20300101T120000Z_000aa"), plan_of_run("20261121T120000Z_000aa", 2)
    end_leg(results, ahead, [answered(ahead, 0, "a", audio_version="v1")])
    results.write_plan(stopped)
    Legs(results, stopped.run_id).claim(1, {"epoch": 1})
    end_leg(results, later := plan_of_run("20261122T120000Z_000aa"), [answered(later, 0, "b", epoch=1)])
    answered_at = AnswerTimes(results, "beta", ("accepted", "rejected")).of

    assert not are_known_since(results, stopped, ["a"])
    assert are_known_since(results, stopped, ["b"])
    assert str(answered_at("a", "v1", None)).startswith("2030")

    end_leg(
        results, again := plan_of_run("20261123T120000Z_000aa"), [answered(again, 0, "a", audio_version="v1", epoch=1)]
    )

    assert str(AnswerTimes(results, "beta", ("accepted",)).of("a", "v1", None)).startswith("2026-11-23")
