"""What an operation leaves is found again by its ID, which names its kind; damage is named."""

import pytest

from proofsweep.domain.errors import NameTaken, ResultsError
from proofsweep.domain.operations import Operation, OperationKind
from proofsweep.store.operations import Operations
from proofsweep.store.parts import Results
from proofsweep.store.runs import RunIndex

from ...worlds.ended_runs import end_leg, plan_of_run
from ..ended_operations import leave_operation, operation_named
from ..scripted_service import NOW

FIRST, SECOND = (operation_named(f"20261120T0{hour}0000Z_000aa") for hour in (1, 2))


@pytest.fixture
def operations(results: Results) -> Operations:
    return Operations(results)


def test_an_operation_is_found_by_its_plan(operations: Operations) -> None:
    """It ends with its receipt; no other text is read as one's ID."""
    operations.write_plan(FIRST, {"list": "a.csv"})
    leave_operation(operations.results, SECOND)

    assert operations.ids() == [FIRST.operation_id, SECOND.operation_id]
    assert operations.ids(kind="erasure") == []
    assert (operations.operation(FIRST.operation_id), operations.operation(SECOND.operation_id)) == (FIRST, SECOND)
    assert (operations.plan(FIRST.operation_id) or {})["list"] == "a.csv"
    assert operations.receipt(FIRST.operation_id) is None
    assert operations.is_complete(SECOND.operation_id)
    assert operations.operation("../../etc/passwd") is None
    with pytest.raises(NameTaken):
        operations.write_plan(FIRST, {})


@pytest.mark.parametrize("kind", OperationKind)
def test_the_kind_is_known_by_the_id(operations: Operations, kind: OperationKind) -> None:
    """So who lists the runs of catalogs opens no operation, and takes none for a run."""
    plan = plan_of_run("20261120T010000Z_000aa")
    end_leg(operations.results, plan, [])
    leave_operation(operations.results, Operation.named(kind, "ab12cd", "beta", "https://partner.example/v1", NOW))

    (operation_id,) = operations.ids(kind=kind)

    assert list(RunIndex(operations.results).refreshed().records) == [plan.run_id]
    with pytest.raises(ResultsError, match="There is no run"):
        operations.results.plan(operation_id)


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b'{"started_at": 1}'])
def test_damage_is_one_line(operations: Operations, content: bytes) -> None:
    """It names the object."""
    operations.results.store.create(f"_runs/{FIRST.operation_id}/plan.json", content)

    with pytest.raises(ResultsError, match=rf"_runs/{FIRST.operation_id}.* is damaged"):
        operations.operation(FIRST.operation_id)
