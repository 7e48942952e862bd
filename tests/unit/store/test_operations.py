"""What an operation leaves is found again by its ID, which names its kind; damage is named."""

from dataclasses import replace

import pytest

from proofsweep.domain.errors import NameTaken, ResultsError
from proofsweep.domain.operations import Operation, OperationKind
from proofsweep.store.operations import is_complete, operation_ids, operation_of, write_operation
from proofsweep.store.parts import Results
from proofsweep.store.runs import RunIndex

from ...worlds.ended_runs import end_leg, plan_of_run
from ..ended_operations import leave_operation, operation_named
from ..scripted_service import NOW

FIRST, SECOND = (operation_named(f"20261120T0{hour}0000Z_000aa") for hour in (1, 2))


def test_an_operation_is_found_by_its_plan(results: Results) -> None:
    """It ends with its receipt; no other text is read as one's ID."""
    store = results.store
    write_operation(store, FIRST)
    leave_operation(results, SECOND)

    assert operation_ids(store) == [FIRST.operation_id, SECOND.operation_id]
    assert operation_ids(store, "erasure") == []
    assert [operation_of(store, each) for each in (*operation_ids(store), "../../etc/passwd")] == [FIRST, SECOND, None]
    assert [is_complete(store, each) for each in operation_ids(store)] == [False, True]
    with pytest.raises(NameTaken):
        write_operation(store, replace(FIRST, environment="other"))


@pytest.mark.parametrize("kind", OperationKind)
def test_the_kind_is_known_by_the_id(results: Results, kind: OperationKind) -> None:
    """So who lists the runs of catalogs opens no operation, and takes none for a run."""
    plan = plan_of_run("20261120T010000Z_000aa")
    end_leg(results, plan, [])
    leave_operation(results, Operation.named(kind, "ab12cd", "beta", "https://partner.example/v1", NOW))

    (operation_id,) = operation_ids(results.store, kind)

    assert list(RunIndex(results).refreshed().records) == [plan.run_id]
    with pytest.raises(ResultsError, match="There is no run"):
        results.plan(operation_id)


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b'{"started_at": 1}'])
def test_damage_is_one_line(results: Results, content: bytes) -> None:
    """It names the object."""
    results.store.create(f"_runs/{FIRST.operation_id}/plan.json", content)

    with pytest.raises(ResultsError, match=rf"_runs/{FIRST.operation_id}.* is damaged"):
        operation_of(results.store, FIRST.operation_id)
