"""Every row that some leg has finished counts, wherever it lies."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from proofsweep.domain.items import sidecar_key
from proofsweep.domain.runs import Plan
from proofsweep.store.journal import Journal
from proofsweep.store.known_rows import AnswerTimes, are_known_since
from proofsweep.store.latest import refresh
from proofsweep.store.ledger import Ledger
from proofsweep.store.legs import Legs
from proofsweep.store.objects import FolderStore
from proofsweep.store.parts import Results

from ...worlds.ended_runs import answered, end_leg, plan_of_run

NOTED, MISSED, KILLED = (plan_of_run(f"20261120T12{minute:02}00Z_000aa", 2, after_entry=minute) for minute in range(3))


@pytest.fixture
def results(tmp_path: Path) -> Results:
    """A store with a leg in the base, one in the tail, and one whose process was killed."""
    results = Results(FolderStore(tmp_path))
    end_leg(results, NOTED, [answered(NOTED, 0, "noted", audio_version="v1")])
    refresh(results)
    end_leg(results, MISSED, [answered(MISSED, 0, "missed", audio_version="v1")])
    results.write_plan(KILLED)
    Legs(results.store, KILLED.run_id).take(1)
    journal = Journal(results, KILLED.run_id, 1, "w")
    journal.add(answered(KILLED, 0, "killed", "rejected", audio_version="v1"), [])
    journal.flush()
    return results


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
    """What it said is older than each run that was planned after it had ended, and than their answers."""
    ahead, later, again = (plan_of_run(f"{day}T120000Z_000aa") for day in (20300101, 20261122, 20261123))
    end_leg(results, ahead, [answered(ahead, 0, "a", audio_version="v1")])
    stopped = plan_of_run("20261121T120000Z_000aa", 2, after_entry=Ledger(results.store).newest())
    end_leg(results, later, [answered(later, 0, "b")])
    answered_at = AnswerTimes(results, "beta", ("accepted", "rejected")).of

    assert not are_known_since(results, stopped, ["a"])
    assert are_known_since(results, stopped, ["b"])
    assert str(answered_at("a", "v1", None)).startswith("2030")

    end_leg(results, again, [answered(again, 0, "a", audio_version="v1")])

    assert str(AnswerTimes(results, "beta", ("accepted",)).of("a", "v1", None)).startswith("2026-11-23")


NOW = datetime(2026, 11, 22, 12, 0, 0, 123456, tzinfo=UTC)


@pytest.fixture
def timed(tmp_path: Path) -> Results:
    """A store whose base holds answers and failures of two environments."""
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
    end_leg(results, NOTED, rows)
    refresh(results)
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
