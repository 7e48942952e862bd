"""The index and the snapshot can be deleted at any time; they are made anew, and say the same then."""

import shutil
from pathlib import Path

import pytest

from proofsweep.domain.errors import ResultsError
from proofsweep.results import open_results
from proofsweep.store.objects import FolderStore
from proofsweep.store.parts import Results
from proofsweep.store.runs import RunIndex
from proofsweep.store.snapshot import Snapshot
from proofsweep.verify.history import complete_snapshot, note_leg

from ...worlds.ended_runs import answered, end_leg, plan_of_run

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
    """Return what index and snapshot say, but for what was counted when a leg ended."""
    rows = [row for table in Snapshot(results.store).rows() for row in table.to_pylist()]
    return {name: len(run.legs) for name, run in RunIndex(results).read().records.items()}, rows


@pytest.mark.parametrize("lost", ["nothing", "_index", "_snapshot"])
def test_what_was_kept_and_what_is_made_anew_are_the_same(tmp_path: Path, results: Results, lost: str) -> None:
    """Whatever was deleted, and however often it is done; readers give the same before it is done."""
    before, latest = said(results), open_results(str(tmp_path)).latest().sort_by("item_id").to_pylist()
    shutil.rmtree(tmp_path / lost, ignore_errors=True)

    assert open_results(str(tmp_path)).latest().sort_by("item_id").to_pylist() == latest
    for _ in range(2):
        complete_snapshot(results)
        assert said(results) == before


def test_the_next_leg_adds_what_is_lost(tmp_path: Path, results: Results) -> None:
    """Without any command."""
    shutil.rmtree(tmp_path / "_index")
    shutil.rmtree(tmp_path / "_snapshot")
    late = plan_of_run("20261103T120000Z_000aa")
    end_leg(results, late, [answered(late, 0, "late")])

    note_leg(results, late)

    records, rows = said(results)
    assert sorted(records) == [*(plan.run_id for plan in PLANS), late.run_id]  # type: ignore[call-overload]  # a dict
    assert [row["item_id"] for row in rows] == ["a", "b", "b", "late"]  # type: ignore[attr-defined]  # a list of rows


def test_a_damaged_part_is_one_clear_line(tmp_path: Path, results: Results) -> None:
    """It names the part; nothing is left out in silence."""
    (part, *_) = sorted((tmp_path / "verdicts").glob("*/*.parquet"))
    part.write_bytes(part.read_bytes()[:100])
    shutil.rmtree(tmp_path / "_snapshot")

    with pytest.raises(ResultsError, match=rf"^verdicts/{part.parent.name}/{part.name} .* damaged: [^\n]*$"):
        complete_snapshot(results)
