"""The index of runs says what the runs say, whoever wrote it, and whether it was there or not."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from proofsweep.store.parts import Results
from proofsweep.store.runs import IndexedRuns, RunIndex, RunRecord

from ...worlds.ended_runs import answered, end_leg, plan_of_run

NOW = datetime(2026, 11, 25, tzinfo=UTC)
RUNS = [f"202611{day:02}T120000Z_000aa" for day in range(1, 25)]


def index_of(results: Results) -> RunIndex:
    return RunIndex(results, lambda: NOW)


def remaining(index: IndexedRuns) -> dict[str, int]:
    return {run_id: record.remaining for run_id, record in index.records.items()}


def test_a_store_without_an_index_is_read_as_it_is_and_indexed(results: Results) -> None:
    """The second reader opens no run."""
    for run_id in RUNS[:3]:
        plan = plan_of_run(run_id)
        end_leg(results, plan, [answered(plan, 0, "a")])

    first = index_of(results).refreshed()
    second = index_of(results).read()

    assert remaining(first) == remaining(second) == dict.fromkeys(RUNS[:3], 0)
    assert second.complete_to == RUNS[2]


def test_a_run_and_a_leg_that_were_never_added_are_found(results: Results) -> None:
    """The process that should have added them was killed."""
    results.write_plan(plan_of_run(RUNS[0], items=2))
    before = index_of(results).refreshed()
    plan = plan_of_run(RUNS[0], items=2)
    end_leg(results, plan, [answered(plan, 0, "a")])
    end_leg(results, plan_of_run(RUNS[-1]))

    after = index_of(results).refreshed()

    assert remaining(before) == {RUNS[0]: 2}
    assert remaining(after) == {RUNS[0]: 1, RUNS[-1]: 1}
    assert remaining(index_of(results).read()) == remaining(after)


def test_nothing_is_lost_if_many_processes_end_legs_at_once(results: Results) -> None:
    """They add and fold in any order; the store knows no conditional replacement."""
    plans = [plan_of_run(run_id) for run_id in RUNS]
    for plan in plans:
        end_leg(results, plan, accepted=1, remaining=0)

    def add(plan_number: int) -> None:
        index = index_of(results)
        record = index.record_of(plans[plan_number].run_id)
        assert record is not None
        index.add([RunRecord(plan=plans[plan_number])])
        index.add([record])

    with ThreadPoolExecutor(len(RUNS)) as threads:
        list(threads.map(add, range(len(plans))))

    assert remaining(index_of(results).read()) == dict.fromkeys(RUNS, 0)


def test_an_older_record_never_hides_a_newer_one(results: Results) -> None:
    """A slow process may add what it knew long ago."""
    plan = plan_of_run(RUNS[0])
    end_leg(results, plan, accepted=1, remaining=0)
    index = index_of(results)
    ended = index.record_of(RUNS[0])
    assert ended is not None

    index.add([ended])
    index.add([RunRecord(plan=plan)])

    assert remaining(index.read()) == {RUNS[0]: 0}


@pytest.mark.parametrize("damage", ["deleted", "damaged"])
def test_the_index_can_be_lost_at_any_time(results: Results, damage: str) -> None:
    """What it says is in the runs."""
    end_leg(results, plan_of_run(RUNS[0]), accepted=1, remaining=0)
    before = index_of(results).refreshed()
    for entry in Path(results.store.url, "_index").iterdir():
        entry.unlink() if damage == "deleted" else entry.write_bytes(b"")

    assert index_of(results).refreshed() == before
    assert index_of(results).read() == before


def test_an_index_that_a_clock_ahead_began_hides_no_run(results: Results) -> None:
    """The process of a later run may be killed before it adds itself."""
    end_leg(results, ahead := plan_of_run("20300101T120000Z_000aa"))
    RunIndex(results, lambda: datetime(2030, 1, 1, 13, tzinfo=UTC)).refreshed()
    end_leg(results, plan_of_run(RUNS[0]))

    assert set(index_of(results).refreshed().records) == {ahead.run_id, RUNS[0]}


def test_a_leg_has_its_number_in_the_ledger_as_soon_as_it_has_one(results: Results) -> None:
    """Whoever adds what else is known of it, and whether the index knew the leg before."""
    plan = plan_of_run(RUNS[0], items=2)
    end_leg(results, plan, [answered(plan, 0, "a")])
    index = index_of(results)
    (first,) = index.refreshed().records[RUNS[0]].legs
    end_leg(results, plan_of_run(RUNS[1]))
    end_leg(results, plan, [answered(plan, 1, "b")], leg=2)
    unknowing = index.record_of(RUNS[0])
    assert unknowing is not None

    index.add([RunRecord(plan=plan, legs=[replace(first, groups=[])])])
    index.refreshed()
    index.add([unknowing])

    found = index.read()
    assert [(leg.entry, leg.groups) for leg in found.records[RUNS[0]].legs] == [(1, []), (3, None)]
    assert (found.records[RUNS[1]].legs[0].entry, found.entries_to) == (2, 3)
