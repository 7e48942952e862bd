"""What a store holds is what its log says, whoever reads it, with a checkpoint or without."""

import shutil
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest

from proofsweep.domain.errors import ResultsError
from proofsweep.store import layout
from proofsweep.store.objects import FolderStore
from proofsweep.store.parts import Results
from proofsweep.store.runs import Runs

from ...worlds.core import begin_leg
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


def read_anew(results: Results) -> Runs:
    """Read the log as another process does."""
    return Results(results.store).log.runs()


def remaining(runs: Runs) -> dict[str, int]:
    return {run_id: record.remaining for run_id, record in runs.records.items()}


def test_a_reader_with_a_checkpoint_opens_no_run(results: Results) -> None:
    """It says the same as one without; a process that has read it once reads what is new."""
    for run_id in RUNS[:3]:
        end_leg(results, plan_of_run(run_id), [answered(plan_of_run(run_id), 0, "a")])
    without = read_anew(results)
    results.log.keep()
    shutil.rmtree(Path(results.store.url, "_runs"))

    with_one = read_anew(results)

    assert (with_one.head, with_one.through) == (without.head, without.through) == (results.log.runs().head, 9)
    assert remaining(with_one) == remaining(without) == dict.fromkeys(RUNS[:3], 0)
    assert [run.begun for run in with_one.newest_first()] == [run.begun for run in without.newest_first()]


def test_a_retired_catalog_counts_only_with_later_runs(results: Results) -> None:
    """Another environment's catalog of the same name counts on, and so does one that is verified again."""
    first, last, later = RUNS[:3]
    other = plan_of_run(f"{RUNS[0]}b", environment="production")
    for plan in (plan_of_run(first), plan_of_run(last), other):
        end_leg(results, plan, [answered(plan, 0, "a")])

    retired = [plan.run_id for plan in results.log.retire("beta", "/c/catalog.csv", NOW)]

    counted = [run.plan.run_id for run in read_anew(results).counted_first()]
    assert (retired, counted) == ([last, first], [other.run_id])
    with pytest.raises(ResultsError, match=r"There is no run of .* that counts"):
        results.log.retire("beta", "/c/catalog.csv", NOW)
    end_leg(results, plan_of_run(later), [answered(plan_of_run(later), 0, "a")])
    assert [run.plan.run_id for run in read_anew(results).counted_first()] == [later, other.run_id]


def test_nothing_is_lost_if_many_processes_end_legs_at_once(results: Results) -> None:
    """They write the checkpoint in any order; the store knows no conditional replacement."""

    def end(run_id: str) -> None:
        own = Results(results.store)
        end_leg(own, plan_of_run(run_id), accepted=1, remaining=0)
        own.log.keep()

    with ThreadPoolExecutor(len(RUNS)) as threads:
        list(threads.map(end, RUNS))

    assert remaining(read_anew(results)) == dict.fromkeys(RUNS, 0)


def test_legs_are_open_until_their_end_stands_in_the_log(results: Results) -> None:
    plan = plan_of_run(RUNS[0], items=2)
    end_leg(results, plan, [answered(plan, 0, "a")])
    end_leg(results, plan_of_run(RUNS[1]))
    begin_leg(results, plan, 2)

    record = read_anew(results).records[RUNS[0]]

    assert [(leg.leg, leg.entry) for leg in record.legs] == [(1, 3)]
    assert [(leg.leg, leg.entry) for leg in record.open] == [(2, 7)]
    assert [(leg.leg, leg.entry) for leg in record.begun] == [(1, 2), (2, 7)]


def test_a_plan_that_cannot_be_read_now_is_not_left_out_for_good(results: Results) -> None:
    """The reader gets one line, and the next one finds the run."""
    end_leg(results, plan_of_run(RUNS[0]))
    failing = Results(FailingStore(Path(results.store.url)))

    with pytest.raises(ResultsError, match="is away"):
        failing.log.runs()

    assert [leg.entry for leg in failing.log.runs().records[RUNS[0]].legs] == [3]


@pytest.mark.parametrize("content", [None, b"{"])
@pytest.mark.parametrize("which", ["plan", "receipt", "entry"])
def test_what_is_damaged_is_named_and_hides_nothing_else(
    results: Results, capsys: pytest.CaptureFixture[str], which: str, content: bytes | None
) -> None:
    """The next command goes on, and no checkpoint keeps the damage: a backup may bring back what is missing."""
    end_leg(results, plan_of_run(RUNS[0]))
    end_leg(results, plan_of_run(RUNS[1]))
    name = {
        "plan": layout.plan_name(RUNS[0]),
        "receipt": layout.receipt_name(RUNS[0], 1),
        "entry": layout.log_name(2),
    }[which]
    path = Path(results.store.url, name)
    if content is None:
        path.unlink()
    else:
        path.write_bytes(content)
    other = Results(results.store)
    other.log.keep()

    runs = other.log.runs()

    said = capsys.readouterr().err
    assert f"{name} {'is missing' if content is None else 'cannot be read'}" in said
    assert "see: proofsweep audit" in said
    assert [leg.entry for leg in runs.records[RUNS[1]].legs] == [6]
    assert runs.through == 6
    assert results.store.read(layout.CHECKPOINT_NAME) is None


def test_a_checkpoint_of_entries_that_are_gone_does_not_count(results: Results) -> None:
    """A backup of the log may be older than the checkpoint beside it."""
    end_leg(results, plan_of_run(RUNS[0]))
    end_leg(results, plan_of_run(RUNS[1]))
    results.log.keep()
    for number in (4, 5, 6):
        results.store.delete(layout.log_name(number))
    end_leg(Results(results.store), plan_of_run(RUNS[2]))

    assert set(read_anew(results).records) == {RUNS[0], RUNS[2]}
