"""What is derived follows the legs, heals by itself, and never fails a leg."""

from pathlib import Path

import pytest

from proofsweep.domain.errors import ResultsError
from proofsweep.domain.runs import Plan
from proofsweep.store.objects import FolderStore
from proofsweep.store.parts import Results
from proofsweep.store.runs import RunIndex
from proofsweep.store.snapshot import Snapshot, legs_in
from proofsweep.verify import history as module
from proofsweep.verify.history import note_leg, note_run

from ...worlds.ended_runs import answered, end_leg, plan_of_run

RUNS = [f"202611{day:02}T120000Z_000aa" for day in range(1, 6)]


class FullStore(FolderStore):
    """A store that is full where derived objects lie."""

    def create(self, name: str, content: bytes) -> None:
        """Refuse them."""
        if name.startswith("_snapshot"):
            raise ResultsError("The disk is full.")
        super().create(name, content)


@pytest.fixture
def results(tmp_path: Path) -> Results:
    """An empty store."""
    return Results(FolderStore(tmp_path))


def end(results: Results, run_id: str) -> Plan:
    """Leave a run of one item behind."""
    plan = plan_of_run(run_id)
    end_leg(results, plan, [answered(plan, 0, "a")])
    return plan


def test_a_run_is_in_the_index_once_it_is_planned(results: Results) -> None:
    """It is seen before its first leg ends."""
    note_run(results, plan_of_run(RUNS[0]))

    assert list(RunIndex(results).read().records) == [RUNS[0]]


def test_a_leg_that_ended_is_in_index_and_snapshot_once(results: Results) -> None:
    """With its rows counted; to note it again changes nothing."""
    plan = end(results, RUNS[0])

    note_leg(results, plan)
    note_leg(results, plan)

    (leg,) = RunIndex(results).read().records[RUNS[0]].legs
    assert leg.groups == [{"outcome": "accepted", "verdict": None, "reason": None, "rows": 1, "example": "/c/a"}]
    assert len(Snapshot(results.store).entries()) == 1


def test_a_full_store_does_not_fail_a_leg_and_the_next_leg_heals(tmp_path: Path, results: Results) -> None:
    """The index has the leg, so the next one knows what the snapshot lacks."""
    note_leg(Results(FullStore(tmp_path)), end(results, RUNS[0]))
    before = legs_in(Snapshot(results.store).entries())

    note_leg(results, end(results, RUNS[1]))

    assert before == {}
    assert legs_in(Snapshot(results.store).entries()) == {run_id: [1] for run_id in RUNS[:2]}


def test_a_mistake_of_this_program_does_not_fail_a_leg(results: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    """The results are safe already."""
    plan = end(results, RUNS[0])

    def broken(_rows: object) -> object:
        raise KeyError("item_id")

    monkeypatch.setattr(module, "reduced", broken)

    note_leg(results, plan)

    assert list(RunIndex(results).read().records) == [RUNS[0]]


def test_an_old_store_is_added_bit_by_bit(results: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    """No leg's end has to read a whole year."""
    for run_id in RUNS[:4]:
        end(results, run_id)
    monkeypatch.setattr(module, "_LATE_PARTS", 2)

    plan = end(results, RUNS[4])
    note_leg(results, plan)
    first = set(legs_in(Snapshot(results.store).entries()))
    note_leg(results, plan)

    assert first == set(RUNS[2:])
    assert set(legs_in(Snapshot(results.store).entries())) == set(RUNS)
