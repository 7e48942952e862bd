"""Operations as they are left behind in a results store."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from proofsweep.domain.endings import EndedBy
from proofsweep.domain.exchanges import AnswerHeaders, Call, Exchange
from proofsweep.domain.items import Row
from proofsweep.domain.runs import Operation, OperationKind
from proofsweep.store.journal import Journal
from proofsweep.store.legs import Legs
from proofsweep.store.parts import Results
from proofsweep.store.rows import exchange_row
from proofsweep.verify.commit import LegParts, commit_leg

from .left_behind import let_holder_die


def operation_named(run_id: str, kind: str = "inventory", environment: str = "beta") -> Operation:
    """Make an operation; it began when its ID says, which gets its kind."""
    began = datetime.strptime(run_id[:16], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    return Operation(
        operation_id=f"{run_id[:20]}_{kind}_{run_id[20:]}",
        kind=kind,
        environment=environment,
        base_url="https://partner.example/v1",
        started_at=began,
    )


def receipt_of(results: Results, operation_id: str | None = None) -> dict[str, Any]:
    """Read the receipt of the last leg of an operation, by default of the only one; empty without one."""
    if operation_id is None:
        (operation_id,) = results.log.runs().operations
    receipts = results.receipts(results.log.runs().operations[operation_id].plan)
    return receipts[max(receipts)] if receipts else {}


def let_operations_die(results: Results) -> None:
    """See that no process works on an operation any more."""
    for record in results.log.runs().operations.values():
        for leg in record.open:
            let_holder_die(results, record.plan, leg.leg)


def call_of(operation: Operation, request_id: str, call: Call = Call.PROOFS, status: int | None = 200) -> Exchange:
    """Make an exchange, a second after its operation began."""
    return Exchange(
        call=call,
        attempt=1,
        started_at=operation.started_at + timedelta(seconds=1),
        elapsed_ms=20.0,
        headers=AnswerHeaders(),
        status=status,
        request_id=request_id,
        bytes_sent=0,
    )


def leave_operation(
    results: Results,
    operation: Operation,
    calls: Sequence[Exchange] = (),
    rows: dict[str, list[Row]] | None = None,
    *,
    is_killed: bool = False,
) -> None:
    """Leave an operation behind that made these calls and has these rows; a killed one has them in its journal."""
    table = OperationKind(operation.kind).table
    results.write_plan(operation)
    Legs(results, operation).begin({})
    journal = Journal(results, operation.operation_id, 1, "w", table)
    run_id, environment = operation.run_id, operation.environment
    for exchange in calls:
        row = exchange_row(exchange, run_id=run_id, leg=1, manifest_row=None, environment=environment)
        journal.add(None, [row])
    own: Row = {"operation_id": operation.operation_id, "environment": operation.environment}
    for row in (rows or {}).get(table, []):
        journal.add(own | row, [])
    journal.flush()
    if is_killed:
        let_holder_die(results, operation, 1)
    else:
        commit_leg(LegParts(results, operation, 1), EndedBy.COMPLETE, {})
