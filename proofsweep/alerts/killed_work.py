"""Work of other flows than verification whose process was killed: it has no end, and nobody holds its lease."""

from collections.abc import Iterator
from datetime import datetime

from proofsweep.alerts.end_alerts import FlowEnd
from proofsweep.alerts.events import CRASHED, FLOW_OF_OPERATION
from proofsweep.model.operations import Operation
from proofsweep.model.runs import new_run_id
from proofsweep.store.lease import Lease
from proofsweep.store.operations import Operations
from proofsweep.store.plans_and_parts import Results
from proofsweep.store.watches import ingest_store, watched_ids
from proofsweep.text import minute_of


def killed_work(results: Results, environment: str, since: datetime) -> Iterator[FlowEnd]:
    """Return the ends of the newest operations of each kind, and of the last pass over each folder, that were killed.

    Args:
        results: where they have worked.
        environment: the service's label.
        since: older operations are not read.
    """
    for operation in _newest_operations(Operations(results), environment, since):
        flow = FLOW_OF_OPERATION[operation.kind]
        began = f"The {operation.kind} of {minute_of(operation.started_at)} has no end."
        yield FlowEnd(environment, flow, CRASHED, flow, results.store.url, [began])
    leases = Results(ingest_store(results.store.url))
    for watch in watched_ids(leases.store):
        lease = Lease(leases, watch)
        if (
            (claim := lease.holder(lease.last()))
            and _was_killed(lease)
            and claim.facts.get("environment") == environment
        ):
            folder, began = str(claim.facts.get("folder")), f"The pass of {minute_of(claim.claimed.at)} has no end."
            yield FlowEnd(environment, "check-ingest", CRASHED, folder, results.store.url, [began])


def _newest_operations(operations: Operations, environment: str, since: datetime) -> Iterator[Operation]:
    read = map(operations.operation, operations.ids(new_run_id(since, "")))
    newest = {each.kind: each for each in read if each is not None and each.environment == environment}
    for each in newest.values():
        if operations.receipt(each.operation_id) is None and _was_killed(operations.lease(each.operation_id)):
            yield each


def _was_killed(lease: Lease) -> bool:
    """Whether a lease was claimed, and its last term has neither an end nor a live process."""
    last = lease.last()
    return last > 0 and lease.receipt(last) is None and not lease.is_alive(last)
