"""Rounds of monitoring as they are left behind in a results store."""

from datetime import datetime, timedelta

from proofsweep.domain.exchanges import Call
from proofsweep.domain.operations import Operation
from proofsweep.domain.tables.probes import probe_row
from proofsweep.storage.results.operations import Operations
from proofsweep.storage.results.plans_and_parts import Results
from proofsweep.usecases.operations.operation_log import OperationLog

from .ended_operations import call_of, operation_named


def leave_rounds(
    results: Results, first: datetime, rounds: int, environment: str = "beta", *, minutes: int = 5
) -> list[str]:
    """Leave rounds behind, so many minutes apart, as `monitor` writes them; give their IDs."""
    begins = (first + number * timedelta(minutes=minutes) for number in range(rounds))
    ids = [f"{began:%Y%m%dT%H%M%SZ}_000aa" for began in begins]
    for operation_id in ids:
        leave_round(results, operation_named(operation_id, "monitoring", environment))
    return ids


def leave_round(results: Results, operation: Operation, *, is_killed: bool = False) -> None:
    """Leave one behind; a killed one has no receipt."""
    log = OperationLog(operation, Operations(results), lambda: operation.started_at, keeps_exchanges=False)
    calls = [call_of(operation, f"{operation.operation_id}-{call}", call) for call in (Call.HEALTH, Call.USAGE)]
    for call in calls:
        log.note(call)
    log.add("probes", [probe_row(call) for call in calls])
    log.add("usage", [{"asked_at": operation.started_at, "day": operation.run_date.isoformat(), "used": 3}])
    if is_killed:
        log.flush()
    else:
        log.end("complete", {"key_fingerprint": "0123456789ab"})
