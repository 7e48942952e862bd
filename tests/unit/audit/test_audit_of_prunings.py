"""A pruning is only right if the rule of prunings allows it, however well its entry fits into the log."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from proofsweep.audit.check import audit_store
from proofsweep.audit.prune import find_prunable, prune
from proofsweep.domain.runs import Plan
from proofsweep.store.layout import items_folder, items_name, log_name, plan_name
from proofsweep.store.legs import Legs
from proofsweep.store.objects import FolderStore
from proofsweep.store.parts import Results
from proofsweep.verify.attempt import supersede

from ...worlds.audited_store import NEWEST, NOW, TWO_LEGS, end_leg, planned
from ...worlds.core import StoredRun, prune_old
from ...worlds.ended_runs import answered, plan_of_run
from ..ended_operations import leave_operation, operation_named
from .conftest import append

LATER, OLD = "20261110T120000Z_000aa", "20250601T120000Z_000aa"
PART, EXCHANGES = (f"{table}/run_date=2026-11-02/{NEWEST}-00000-001.parquet" for table in ("verdicts", "exchanges"))
OF_TWO_LEGS = f"verdicts/run_date=2026-11-01/{TWO_LEGS}-00000-001.parquet"


def found(results: Results, now: datetime = NOW) -> list[str]:
    audit = audit_store(Results(results.store), clock=lambda: now)
    return [f"{finding.where} {finding.what}" for finding in audit.wrong]


def forge(root: Path, run_id: str, *deleted: str, days: int = 10, now: datetime = NOW, is_whole: bool = False) -> str:
    """Append a pruning as `prune` does, and delete what it names; give its entry's name."""
    entry = append(
        root,
        "pruned",
        run_id,
        decided_at=now.isoformat(timespec="seconds"),
        older_than_days=days,
        is_whole=is_whole,
        deleted=dict.fromkeys(deleted, 1),
        proofsweep_version="0.1.0",
    )
    for name in deleted:
        (root / name).unlink(missing_ok=True)
    return entry


@pytest.mark.parametrize(("days", "later"), [(400, 0), (19, 0), (400, 400)])
def test_the_rejections_of_last_night_cannot_be_pruned(results: Results, root: Path, days: int, later: int) -> None:
    """Whatever age the entry asks for, or tells; here with all calls of the night."""
    entry = forge(root, NEWEST, PART, EXCHANGES, days=days, now=NOW + timedelta(days=later))

    done = found(results)

    assert any(line.startswith(f"{entry} prunes ") for line in done)
    assert f"{entry} prunes a run that was over for less than {days} days" in done or later
    assert f"{entry} prunes at a time that is yet to come" in done or not later


def test_a_time_a_day_ahead_is_another_machine_s_clock(results: Results, root: Path) -> None:
    entry = forge(root, TWO_LEGS, OF_TWO_LEGS, now=NOW + timedelta(hours=23))

    assert f"{entry} prunes at a time that is yet to come" not in found(results)


def test_an_answer_goes_only_for_a_newer_one(results: Results, root: Path) -> None:
    """The run is old enough. `a` and `b` had an answer before, which says nothing of what was answered last."""
    entry = forge(root, NEWEST, PART)

    assert found(results) == [f"{entry} prunes the newest answers of run {NEWEST}: 5 of its items have no newer one"]

    end_leg(results, planned(results, LATER, "abxy"), "abxy", range(4))
    assert found(results) == [f"{entry} prunes the newest answers of run {NEWEST}: 1 of its items have no newer one"]

    end_leg(results, planned(results, LATER.replace("12", "13"), "z"), "z", [0])
    assert found(results) == []


def test_what_a_catalog_lists_now_stays(results: Results, root: Path) -> None:
    """Its items, and the run itself; of an older run both may go."""
    whole = forge(root, NEWEST, EXCHANGES, is_whole=True)
    items = forge(root, NEWEST, items_name(NEWEST, 0))
    older = forge(root, TWO_LEGS, items_name(TWO_LEGS, 0))

    done = found(results)

    assert {f"{entry} prunes what a catalog lists now" for entry in (whole, items)} == {*done}
    assert older not in str(done)


def test_a_run_that_is_not_over_is_not_pruned(results: Results, root: Path) -> None:
    """Of which a leg is open, or has ended with rows that remain; or of which none began."""
    left = planned(results, "20261103T120000Z_000aa", "mn")
    end_leg(results, left, "mn", [0], "window")
    opened = planned(results, "20261104T120000Z_000aa", "op")
    Legs(results, opened).begin({})
    new = planned(results, "20261105T120000Z_000aa", "q")
    forged = [forge(root, plan.run_id, f"_runs/{plan.run_id}/journal/001/x") for plan in (left, opened, new)]

    assert found(results) == [f"{entry} prunes a run that was not over" for entry in forged]


@pytest.mark.parametrize("name", [plan_name(NEWEST), "_log/000000/000000001.json", OF_TWO_LEGS, "_runs/x/../y"])
def test_only_what_a_pruning_deletes_of_its_run_goes(results: Results, root: Path, name: str) -> None:
    """Else an entry could have `prune` delete anything."""
    entry = append(
        root,
        "pruned",
        NEWEST,
        decided_at=NOW.isoformat(),
        older_than_days=10,
        is_whole=False,
        deleted={name: 1},
        proofsweep_version="0",
    )

    assert f"{entry} prunes an object that no pruning deletes" in found(results)


def test_an_operation_is_not_pruned(results: Results, root: Path) -> None:
    operation = operation_named("20261020T010000Z_000aa")
    leave_operation(results, operation)
    entry = forge(root, operation.run_id, f"exchanges/run_date=2026-10-20/{operation.run_id}-00000-001.parquet")

    assert f"{entry} prunes an operation" in found(results)


def september(results: Results) -> Plan:
    """Leave an old run of a list of its own behind, whose files another list has answered since."""
    plan = plan_of_run(OLD, items=2, batch_items=5, catalog="/c/september.csv")
    StoredRun(results, plan).write_items("ab")
    results.write_plan(plan)
    end_leg(results, plan, "ab", [0, 1])
    end_leg(results, planned(results, TWO_LEGS, "abc"), "abc", range(3))
    return plan


def test_a_list_whose_files_another_one_has_answered_since_keeps_its_items_alone(tmp_path: Path) -> None:
    """So does `prune`, and the audit finds it right, as long as the newer answers are there."""
    results = Results(FolderStore(tmp_path))
    plan = september(results)

    assert prune_old(results, 400, NOW) == [OLD]

    assert list(tmp_path.glob(f"verdicts/*/{OLD}-*")) == []
    assert results.store.names(items_folder(plan.run_id)) != []
    assert found(results) == []
    (tmp_path / OF_TWO_LEGS).unlink()
    assert f"{log_name(7)} prunes the newest answers of run {OLD}: 2 of its items have no newer one" in found(results)


def test_the_listing_before_an_unfinished_run_is_pruned_of_its_answers_alone(tmp_path: Path) -> None:
    """It counts again once a person gives up the later run: before or after the pruning, or while it is decided."""
    results = Results(FolderStore(tmp_path))
    later = replace(september(results), run_id=NEWEST)
    StoredRun(results, later).write_items("ab")
    results.write_plan(later)
    looked_at = find_prunable(results, 400, NOW)

    supersede(results, later, lambda: datetime(2026, 11, 3, tzinfo=UTC), is_given_up=True)

    assert [pruning.run_id for pruning in prune(results, looked_at)] == [OLD]
    assert results.store.names(items_folder(OLD)) != []
    assert results.log.runs().records[NEWEST].is_given_up
    assert found(results) == []


def test_an_older_run_may_have_answered_last(tmp_path: Path) -> None:
    """It was planned before the list's run, and went on after it; its rows say when they were answered."""
    results = Results(FolderStore(tmp_path))
    older = planned(results, "20250101T120000Z_000aa", "ab")
    run, plan = StoredRun(results, older), september(results)
    later = datetime.fromisoformat(plan.created_at) + timedelta(days=2)
    run.take()
    rows = [answered(older, row, "ab"[row], answered_at=later, finished_at=later) for row in (0, 1)]
    run.end(1, "complete", [(row, []) for row in rows])
    (tmp_path / OF_TWO_LEGS).unlink()
    newest = f"{TWO_LEGS[:8]}"
    verdicts = next(tmp_path.glob(f"verdicts/*/{OLD}-*")).relative_to(tmp_path)

    forge(tmp_path, OLD, str(verdicts))

    assert [line for line in found(results) if newest not in line] == []


def test_a_row_with_the_answer_of_an_earlier_run_may_go_for_an_older_one(tmp_path: Path) -> None:
    """The bytes of a duplicate were answered before its run; what was answered since then is newer."""
    results = Results(FolderStore(tmp_path))
    before = planned(results, "20250101T120000Z_000aa", "ab")
    end_leg(results, before, "ab", [0, 1])
    plan = planned(results, OLD, "ab")
    run = StoredRun(results, plan)
    run.take()
    cells = {"answered_at": datetime(2024, 1, 1, tzinfo=UTC), "answered_by_run": "20240101T120000Z_000aa"}
    run.end(1, "complete", [(answered(plan, row, "ab"[row], **cells), []) for row in (0, 1)])

    assert prune_old(results, 400, NOW) == [OLD]

    assert found(results) == []
