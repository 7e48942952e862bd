"""Old runs lose what holds no newest answer; a kill at any step is healed by pruning again."""

import os
import shutil
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from proofsweep.audit.prune import Prunable, days_of, find_prunable, prune
from proofsweep.domain.errors import ResultsError, UsageError
from proofsweep.domain.runs import began_at
from proofsweep.queries.status import describe_run
from proofsweep.results import open_results
from proofsweep.store import layout
from proofsweep.store.latest import refresh
from proofsweep.store.legs import Legs
from proofsweep.store.objects import FolderStore
from proofsweep.store.parts import Results
from proofsweep.verify.resume import unfinished_runs

from ...worlds.core import StoredRun
from ...worlds.ended_runs import plan_of_run
from ...worlds.year_old_store import (
    NOW,
    PARTLY,
    PLANNED,
    SUPERSEDED,
    finish,
    is_killed_at,
    year_old_store,
)
from ..left_behind import base_rows

STEPS_BETWEEN_KILLS = 1 if "PROOFSWEEP_SOAK_KILLS" in os.environ else 3


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of old runs, made once; nobody changes it."""
    root = tmp_path_factory.mktemp("built")
    year_old_store(Results(FolderStore(root)))
    return root


@pytest.fixture
def results(built: Path, tmp_path: Path) -> Results:
    return Results(FolderStore(shutil.copytree(built, tmp_path, dirs_exist_ok=True)))


def found(results: Results, days: int = 400) -> Prunable:
    return find_prunable(results, days, NOW)


def prune_all(results: Results) -> list[str]:
    """Prune; name the runs of which something went."""
    return [pruning.run_id for pruning in prune(results, found(results))]


def objects(root: Path) -> set[str]:
    """Name the files of a store that are not derived."""
    files = (str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())
    return {name for name in files if not name.startswith(("_index", "_latest"))}


def test_only_parts_without_a_newest_row_go(results: Results, tmp_path: Path) -> None:
    """The part with `x` stays; so do unfinished runs, plans, leases, receipts and rows of `runs`."""
    results.store.create(layout.items_name(PARTLY.run_id, 0, "listed"), b"the whole catalog")
    before, rows = objects(tmp_path), base_rows(results)

    assert prune_all(results) == [PARTLY.run_id, SUPERSEDED.run_id]

    whole, part = (f"verdicts/run_date=2025-01-0{day}/{plan.run_id}" for day, plan in ((1, SUPERSEDED), (2, PARTLY)))
    gone = {f"{whole}-00000-001.parquet", f"{whole}-00001-001.parquet", f"{part}-00000-001.parquet"}
    gone |= {layout.items_name(PARTLY.run_id, 0, "listed")}
    kept = {f"{part}-00001-001.parquet"}
    for plan in (SUPERSEDED, PARTLY):
        gone |= {layout.part_name("exchanges", plan.run_id, plan.run_date, 0, 1)}
        gone |= {f"_runs/{plan.run_id}/items/0000{number}.parquet" for number in (0, 1)}
        gone |= {f"_runs/{plan.run_id}/journal/001/exchanges-w-000001.arrow"}
    after = objects(tmp_path)
    assert before - after == gone - kept
    assert {name.split("/")[0] for name in after - before} == {"_log"}
    assert base_rows(results) == rows
    assert prune_all(results) == []


def test_what_killed_processes_left_unfinished_goes_after_a_week(results: Results, tmp_path: Path) -> None:
    """Drafts and items without a plan; not those of a process that may be at work, nor of a run that lost its plan."""
    newest = max(path.stat().st_mtime for path in tmp_path.rglob("*"))
    week = 7 * 86_400
    for name, age in (("verdicts/.draft-old", week + 60), ("_runs/.draft-young", week - 60), (".draft-now", 0)):
        (tmp_path / name).write_bytes(b"half")
        os.utime(tmp_path / name, (newest - age, newest - age))
    last = max(results.log.runs().records)
    killed, planning = (f"{began_at(last) - timedelta(days=days):%Y%m%dT%H%M%SZ}_000aa" for days in (8, 6))
    lost = killed.replace("_000aa", "_000bb")
    for run_id in (killed, planning, lost):
        results.store.create(layout.items_name(run_id, 0), b"items")
    results.store.create(layout.heartbeat_name(lost, 1), b"{}")
    before = objects(tmp_path)
    gone = {"verdicts/.draft-old", layout.items_name(killed, 0)}

    prunable = replace(found(results), begun=[], new=[])
    prune(results, prunable)

    assert set(prunable.unfinished) == gone
    assert before - objects(tmp_path) == gone


def test_a_run_that_is_young_or_may_be_alive_stays(results: Results, tmp_path: Path) -> None:
    """It counts from the end of its last leg; one more that began is enough. The newest answers are worked out."""
    shutil.rmtree(tmp_path / "_latest")
    old = [pruning.run_id for pruning in found(results).new]
    young = found(results, 687).old_runs, found(results, 688).new

    StoredRun(results, SUPERSEDED).take(2)

    assert (old, young) == ([PARTLY.run_id, SUPERSEDED.run_id], (1, []))
    assert [pruning.run_id for pruning in found(results).new] == [PARTLY.run_id]


@pytest.mark.parametrize("derived", ["", "_index", "_latest"])
def test_other_readers_are_right_afterwards(results: Results, tmp_path: Path, derived: str) -> None:
    """Status, the list of runs, tables, the newest rows; also when what is derived is made anew.

    Of rows that are gone only the base remembers when they were.
    """
    rows = base_rows(results)
    remembered = {"first_run_id", "outcome_since"} if derived == "_latest" else set()
    prune_all(results)
    if derived:
        shutil.rmtree(tmp_path / derived)

    status = describe_run(results, SUPERSEDED.run_id)
    store = open_results(str(tmp_path))

    assert (status.remaining, status.rows("accepted"), status.pruned_at is not None) == (0, 4, True)
    assert describe_run(results, PARTLY.run_id).remaining == 0
    assert next(unfinished_runs(results)).run_id == PLANNED.run_id
    assert store.verdicts(SUPERSEDED.run_id).num_rows == 0
    assert store.verdicts(PARTLY.run_id)["item_id"].to_pylist() == ["x", "b"]
    assert (store.verdicts().num_rows, store.exchanges(PARTLY.run_id).num_rows, store.runs().num_rows) == (7, 0, 4)
    refresh(results)
    for now, before in zip(base_rows(results), rows, strict=True):
        assert {name for name in before if now[name] != before[name]} <= remembered
    assert SUPERSEDED.run_id not in results.log.runs().records


def test_kept_parts_go_when_their_answers_are_superseded(results: Results, tmp_path: Path) -> None:
    prune_all(results)
    finish(results, plan_of_run("20250106T120000Z_000aa", items=1, batch_items=2), "x")

    assert prune_all(results) == [PARTLY.run_id]

    assert [pruning.is_whole for pruning in results.prunings_of(PARTLY.run_id)] == [False, True]
    assert list((tmp_path / "verdicts").rglob(f"{PARTLY.run_id}*")) == []
    assert PARTLY.run_id not in results.log.runs().records


def test_a_run_that_lists_its_catalog_stays_known_without_its_rows(results: Results) -> None:
    """A manifest of another month, with the same items: their answers are newer, and its catalog is what it was."""
    september = plan_of_run("20250101T130000Z_000aa", items=2, batch_items=2, catalog="/c/september.csv")
    finish(results, september, "ab")
    finish(results, plan_of_run("20250106T120000Z_000aa", items=2, batch_items=2), "ab")

    assert september.run_id in prune_all(results)

    assert september.run_id in results.log.runs().records
    assert results.store.names(layout.items_folder(september.run_id)) != []
    finish(results, replace(september, run_id="20250107T120000Z_000aa"), "ab")
    assert september.run_id in prune_all(results)
    assert september.run_id not in results.log.runs().records


def test_two_prunings_at_once_are_one(results: Results, tmp_path: Path) -> None:
    """Both may have decided the same in the same second; nothing else is deleted."""
    first, second = found(results), found(results)

    assert len(prune(results, first)) == 2
    after = objects(tmp_path)

    prune(results, second)

    assert objects(tmp_path) == after


def test_a_kill_at_each_step_is_healed_by_pruning_again(results: Results, tmp_path: Path) -> None:
    """Between both, status and newest rows are right, and each run that lost something has an intent."""
    rows = base_rows(results)
    expected = tmp_path.with_name("expected")
    shutil.copytree(tmp_path, expected)
    prune_all(Results(FolderStore(expected)))
    for steps in range(0, 99, STEPS_BETWEEN_KILLS):
        root = tmp_path.with_name(f"killed-{steps}")
        shutil.copytree(tmp_path, root)
        killed = Results(FolderStore(root))
        was_killed = is_killed_at(killed, steps)

        for plan in (SUPERSEDED, PARTLY):
            names = {name for name in objects(tmp_path) - objects(root) if plan.run_id in name}
            status = describe_run(killed, plan.run_id)
            assert (status.remaining, status.rows("accepted")) == (0, 4)
            assert not names or status.pruned_at is not None
        refresh(killed)
        assert base_rows(killed) == rows
        prune_all(killed)

        assert objects(root) == objects(expected)
        assert SUPERSEDED.run_id not in killed.log.runs().records
        shutil.rmtree(root)
        if not was_killed:
            break
    assert not was_killed
    assert steps > 12


@pytest.mark.parametrize("text", ["", "400", "0d", "-3d", "1y", "1.5d", "999999d"])
def test_an_age_is_in_whole_days(text: str) -> None:
    """At least one; another is refused with an example of one that is understood."""
    assert [days_of(each) for each in ("400d", " 1d ")] == [400, 1]
    with pytest.raises(UsageError, match="write it like 400d"):
        days_of(text)


def test_a_run_that_was_pruned_whole_does_not_go_on(results: Results) -> None:
    """A flow that is given its ID is refused: entries of it would be damage in the log for ever."""
    prune_all(results)
    assert SUPERSEDED.run_id in results.log.runs().pruned

    with pytest.raises(ResultsError, match="was pruned, and cannot go on"):
        Legs(results, SUPERSEDED).begin({})

    assert not Results(results.store).log.runs().damaged


@pytest.mark.parametrize("is_indexed", [False, True])
def test_a_run_whose_receipt_is_missing_keeps_all(results: Results, tmp_path: Path, *, is_indexed: bool) -> None:
    """It may come back, as from a backup, and then the run may hold newest answers."""
    if not is_indexed:
        shutil.rmtree(tmp_path / "_index", ignore_errors=True)
    for receipt in tmp_path.glob(f"_runs/{SUPERSEDED.run_id}/legs/*/receipt.json"):
        receipt.unlink()
    results = Results(results.store)

    assert SUPERSEDED.run_id not in prune_all(results)
