"""The index of runs says what the runs say, whoever wrote it, and whether it was there or not."""

import shutil
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest

from proofsweep.domain.errors import ResultsError
from proofsweep.store.objects import FolderStore
from proofsweep.store.parts import Results
from proofsweep.store.runs import IndexedRuns, RunIndex, retire

from ...worlds.ended_runs import answered, end_leg, plan_of_run

NOW = datetime(2026, 11, 25, tzinfo=UTC)
RUNS = [f"202611{day:02}T120000Z_000aa" for day in range(1, 25)]


class FailingStore(FolderStore):
    """A store that fails to read each plan once."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.failed: set[str] = set()

    def read(self, name: str) -> bytes | None:
        if name.endswith("/plan.json") and name not in self.failed:
            self.failed.add(name)
            raise ResultsError("The store is away.")
        return super().read(name)


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
    shutil.rmtree(Path(results.store.url, "_runs"))
    second = index_of(results).refreshed()

    assert remaining(first) == remaining(second) == dict.fromkeys(RUNS[:3], 0)
    assert second.complete_to == "20261027T120000Z"  # a run may still be planned whose ID is a week older


def test_a_retired_catalog_counts_only_with_later_runs(results: Results) -> None:
    """Another environment's catalog of the same name counts on, and so does one that is verified again."""
    first, last, later = RUNS[:3]
    other = plan_of_run(f"{RUNS[0]}b", environment="production")
    for plan in (plan_of_run(first), plan_of_run(last), other):
        end_leg(results, plan, [answered(plan, 0, "a")])

    retired = [plan.run_id for plan in retire(results, "beta", "/c/catalog.csv", NOW)]

    counted = [run.plan.run_id for run in index_of(results).refreshed().counted_first()]
    assert (retired, counted) == ([last, first], [other.run_id])
    with pytest.raises(ResultsError, match=r"There is no run of .* that counts"):
        retire(results, "beta", "/c/catalog.csv", NOW)
    end_leg(results, plan_of_run(later), [answered(plan_of_run(later), 0, "a")])
    assert [run.plan.run_id for run in index_of(results).refreshed().counted_first()] == [later, other.run_id]


def test_nothing_is_lost_if_many_processes_end_legs_at_once(results: Results) -> None:
    """They write and fold in any order; the store knows no conditional replacement."""

    def end(run_id: str) -> None:
        end_leg(results, plan_of_run(run_id), accepted=1, remaining=0)
        index_of(results).refreshed()

    with ThreadPoolExecutor(len(RUNS)) as threads:
        list(threads.map(end, RUNS))
    index_of(results).refreshed()
    shutil.rmtree(Path(results.store.url, "_runs"))

    assert remaining(index_of(results).refreshed()) == dict.fromkeys(RUNS, 0)


def test_an_index_that_a_clock_ahead_began_hides_no_run(results: Results) -> None:
    """The process of a later run may be killed before it adds itself; a run that is only planned has no entry."""
    end_leg(results, ahead := plan_of_run("20300101T120000Z_000aa"))
    RunIndex(results, lambda: datetime(2030, 1, 3, 13, tzinfo=UTC)).refreshed()
    end_leg(results, plan_of_run(RUNS[0]))
    results.write_plan(plan_of_run(RUNS[-1]))

    assert set(index_of(results).refreshed().records) == {ahead.run_id, RUNS[0], RUNS[-1]}


def test_a_leg_has_its_number_in_the_ledger_as_soon_as_it_has_one(results: Results) -> None:
    """Whether the index knew the leg before."""
    plan = plan_of_run(RUNS[0], items=2)
    end_leg(results, plan, [answered(plan, 0, "a")])
    index_of(results).refreshed()
    end_leg(results, plan_of_run(RUNS[1]))
    end_leg(results, plan, [answered(plan, 1, "b")], leg=2)

    found = index_of(results).refreshed()

    assert [leg.entry for leg in found.records[RUNS[0]].legs] == [1, 3]
    assert (found.records[RUNS[1]].legs[0].entry, found.entries_to) == (2, 3)


def test_a_plan_that_cannot_be_read_now_is_not_left_out_for_good(results: Results) -> None:
    """The reader gets one line, and the next one finds the run with its place in the ledger."""
    end_leg(results, plan_of_run(RUNS[0]))
    failing = Results(FailingStore(Path(results.store.url)))

    with pytest.raises(ResultsError, match="is away"):
        index_of(failing).refreshed()

    assert [leg.entry for leg in index_of(failing).refreshed().records[RUNS[0]].legs] == [1]


def test_a_run_whose_plan_is_damaged_hides_no_other(results: Results) -> None:
    end_leg(results, plan_of_run(RUNS[0]))
    end_leg(results, plan_of_run(RUNS[1]))
    Path(results.store.url, f"_runs/{RUNS[0]}/plan.json").write_bytes(b"{")

    assert set(index_of(results).refreshed().records) == {RUNS[1]}
