"""The index and the snapshot can always be made anew, and say the same then."""

import shutil
from pathlib import Path

import pytest

from proofsweep.audit.compact import compact
from proofsweep.errors import ResultsError
from proofsweep.store.folder_store import FolderStore
from proofsweep.store.plans_and_parts import Results
from proofsweep.store.run_index import RunIndex
from proofsweep.store.snapshot import Snapshot
from proofsweep.verify.leg.note_leg import note_leg

from ..ended_runs import answered, end_leg, plan_of_run

PLANS = [plan_of_run(f"202611{day:02}T120000Z_000aa", items=3) for day in (1, 2)]


@pytest.fixture
def results(tmp_path: Path) -> Results:
    """A store of two nights; in the second, `b` failed."""
    results = Results(FolderStore(tmp_path))
    for plan, word in zip(PLANS, ("accepted", "failed"), strict=True):
        end_leg(results, plan, [answered(plan, 0, "a"), answered(plan, 1, "b", word)])
        note_leg(results, plan)
    return results


def said(results: Results) -> tuple[object, object]:
    """Return what index and snapshot say."""
    rows = [row for table in Snapshot(results.store).rows() for row in table.to_pylist()]
    return RunIndex(results).read().records, rows


@pytest.mark.parametrize("lost", ["nothing", "_index", "_snapshot"])
def test_what_was_kept_and_what_is_made_anew_are_the_same(tmp_path: Path, results: Results, lost: str) -> None:
    """Whatever was deleted, and however often it is done."""
    before = said(results)
    shutil.rmtree(tmp_path / lost, ignore_errors=True)

    done = compact(results)

    assert (done.runs, done.legs, done.snapshot_rows) == (2, 2, 3)
    assert said(results) == before
    compact(results)
    assert said(results) == before


def test_a_leg_that_ends_meanwhile_stays(results: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    """It adds itself after the old entries were listed, and before the new one is written."""
    late = plan_of_run("20261103T120000Z_000aa")
    replace_all = Snapshot.replace_all

    def end_late_leg(snapshot: Snapshot, *arguments: object) -> None:
        end_leg(results, late, [answered(late, 0, "late")])
        note_leg(results, late)
        replace_all(snapshot, *arguments)  # type: ignore[arg-type]  # handed on

    monkeypatch.setattr(Snapshot, "replace_all", end_late_leg)
    compact(results)

    records, rows = said(results)
    assert late.run_id in records  # type: ignore[operator]  # a dict
    assert [row["item_id"] for row in rows] == ["a", "b", "b", "late"]  # type: ignore[attr-defined]  # a list of rows


def test_a_damaged_part_is_one_clear_line(tmp_path: Path, results: Results) -> None:
    """It names the part; nothing is left out in silence, and the snapshot is as it was."""
    (part, *_) = sorted((tmp_path / "verdicts").glob("*/*.parquet"))
    before = said(results)
    part.write_bytes(part.read_bytes()[:100])

    with pytest.raises(ResultsError, match=rf"^verdicts/{part.parent.name}/{part.name} .* damaged: [^\n]*$"):
        compact(results)

    assert said(results)[1] == before[1]
