"""Every row that some leg has finished counts, wherever it lies."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from proofsweep.domain.items import sidecar_key
from proofsweep.domain.runs import Plan
from proofsweep.store import known_rows as module
from proofsweep.store import schemas
from proofsweep.store.journal import Journal
from proofsweep.store.known_rows import AnswerTimes, are_known_since, known_rows, newest_answers
from proofsweep.store.legs import Legs
from proofsweep.store.objects import FolderStore
from proofsweep.store.parts import Results
from proofsweep.store.snapshot import Snapshot, reduced
from proofsweep.verify.history import note_leg

from ...worlds.ended_runs import answered, end_leg, plan_of_run

NOTED, MISSED, KILLED = (plan_of_run(f"20261120T12{minute:02}00Z_000aa", 2) for minute in range(3))


@pytest.fixture
def results(tmp_path: Path) -> Results:
    """A store with a leg in the snapshot, one that was not noted, and one whose process was killed."""
    results = Results(FolderStore(tmp_path))
    end_leg(results, NOTED, [answered(NOTED, 0, "noted", audio_version="v1")])
    note_leg(results, NOTED)
    end_leg(results, MISSED, [answered(MISSED, 0, "missed", audio_version="v1")])
    results.write_plan(KILLED)
    Legs(results.store, KILLED.run_id).take(1)
    journal = Journal(results, KILLED.run_id, 1, "w")
    journal.add(answered(KILLED, 0, "killed", "rejected", audio_version="v1"), [])
    journal.flush()
    return results


def test_rows_of_the_snapshot_of_parts_and_of_journals_are_known(results: Results) -> None:
    """Each once, unless its leg ended in that very moment; those of another environment are none of it."""
    tables = known_rows(results, "beta", ["item_id"])

    assert sorted(item for table in tables for item in table["item_id"].to_pylist()) == ["killed", "missed", "noted"]
    assert not any(table.num_rows for table in known_rows(results, "production", ["item_id"]))


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
    Legs(results.store, stopped.run_id).take(1, {"epoch": 1})
    end_leg(results, later := plan_of_run("20261122T120000Z_000aa"), [answered(later, 0, "b", epoch=1)])
    answered_at = AnswerTimes(results, "beta", ("accepted", "rejected")).of

    assert not are_known_since(results, stopped, ["a"])
    assert are_known_since(results, stopped, ["b"])
    assert str(answered_at("a", "v1", None)).startswith("2030")

    end_leg(
        results, again := plan_of_run("20261123T120000Z_000aa"), [answered(again, 0, "a", audio_version="v1", epoch=1)]
    )

    assert str(AnswerTimes(results, "beta", ("accepted",)).of("a", "v1", None)).startswith("2026-11-23")


NOW = datetime(2026, 11, 22, 12, 0, 0, 123456, tzinfo=UTC)


@pytest.fixture
def timed(tmp_path: Path) -> Results:
    """A store whose snapshot holds answers and failures of two environments."""
    results = Results(FolderStore(tmp_path))
    cells = [
        ("a", "beta", "accepted", None, 5),
        ("a", "beta", "failed", None, 1),
        ("a", "production", "accepted", None, 0),
        ("b", "beta", "rejected", "s1", 3),
        ("c", "beta", "failed", None, 2),
    ]
    rows = [
        answered(NOTED, number, item, outcome, environment=environment, finished_at=NOW - timedelta(days=days))
        | {"audio_version": "v1", "sidecar_version": version, "sidecar": version and "/drop/b.proof"}
        for number, (item, environment, outcome, version, days) in enumerate(cells)
    ]
    found = [{name: row.get(name) for name in schemas.SNAPSHOT.names} for row in rows]
    table = pa.Table.from_pylist(found, schema=schemas.SNAPSHOT)
    Snapshot(results.store).add(reduced([table]), {"r": [1]})
    return results


def test_the_newest_time_of_an_outcome_is_found(timed: Results) -> None:
    """Rows with other outcomes, of other environments and other versions do not count."""
    answered, tried = (
        AnswerTimes(timed, "beta", outcomes).of
        for outcomes in (("accepted", "rejected"), ("accepted", "rejected", "failed", "ineligible"))
    )

    assert answered("a", "v1", None) == NOW - timedelta(days=5)
    assert tried("a", "v1", None) == NOW - timedelta(days=1)
    assert answered("b", "v1", sidecar_key("b.proof", "s1")) == NOW - timedelta(days=3)
    assert answered("b", "v1", None) is None
    assert answered("b", "v1", sidecar_key("/drop/c.proof", "s1")) is None
    assert answered("b", "v2", sidecar_key("b.proof", "s1")) is None
    assert answered("b", None, sidecar_key("b.proof", "s1")) is None
    assert (answered("c", "v1", None), tried("c", "v1", None)) == (None, NOW - timedelta(days=2))


OLD, NEW = plan_of_run("20261101T120000Z_000aa", items=4), plan_of_run("20261120T120000Z_000aa", items=3)


@pytest.fixture
def two_nights(tmp_path: Path) -> Results:
    """A store in which `a` was answered twice, `b` failed lately, `c` never had an answer, `d` only long ago."""
    results = Results(FolderStore(tmp_path))
    end_leg(results, OLD, [answered(OLD, row, name) for row, name in enumerate("abd")])
    note_leg(results, OLD)
    outcomes = {"a": "rejected", "b": "failed", "c": "ineligible"}
    end_leg(results, NEW, [answered(NEW, row, name, word) for row, (name, word) in enumerate(outcomes.items())])
    note_leg(results, NEW)
    return results


@pytest.mark.parametrize("few", [5_000, 2])
def test_the_newest_answers_of_some_items_are_given(
    two_nights: Results, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A failed night does not hide the answer before it; few items are found as many are."""
    monkeypatch.setattr(module, "_FEW_ITEMS", few)

    rows = [
        row for table in newest_answers(two_nights, "beta", iter(["c", "b", "x", "a"])) for row in table.to_pylist()
    ]

    assert [(row["item_id"], row["outcome"], row["run_id"]) for row in rows] == [
        ("a", "rejected", NEW.run_id),
        ("b", "accepted", OLD.run_id),
    ]
