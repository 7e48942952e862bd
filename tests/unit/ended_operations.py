"""Operations as they are left behind in a results store."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from proofsweep.domain.exchanges import Call, Exchange
from proofsweep.domain.headers import AnswerHeaders
from proofsweep.domain.items import Row
from proofsweep.domain.operations import Operation
from proofsweep.operations.operation import OperationLog
from proofsweep.store.operations import Operations
from proofsweep.store.parts import Results


def operation_named(operation_id: str, kind: str = "inventory", environment: str = "beta") -> Operation:
    """Make an operation; it began when its ID says."""
    began = datetime.strptime(operation_id[:16], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    return Operation(
        operation_id=operation_id,
        kind=kind,
        environment=environment,
        base_url="https://partner.example/v1",
        started_at=began,
    )


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
    """Leave an operation behind that made these calls and has these rows; a killed one has no receipt."""
    log = OperationLog(operation, Operations(results), lambda: operation.started_at + timedelta(seconds=9))
    Operations(results).write_intent(operation, {})
    for exchange in calls:
        log.note(exchange)
    for table, its_rows in (rows or {}).items():
        log.add(table, its_rows)
    if is_killed:
        log.flush()
    else:
        log.end("complete", {})
