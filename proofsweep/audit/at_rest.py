"""See that nobody is at work in a store who may write of an item: a leg, a pass over a watched folder, an operation."""

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial

from proofsweep.audit.rows_of_item import in_parallel
from proofsweep.errors import RunIsActive
from proofsweep.model.operations import OperationKind
from proofsweep.model.runs import new_run_id
from proofsweep.store.lease import Lease
from proofsweep.store.legs import Legs
from proofsweep.store.operations import Operations
from proofsweep.store.plans_and_parts import Results
from proofsweep.store.watches import Watch, ingest_store, watched_ids

_OF_ITEMS = (OperationKind.INVENTORY, OperationKind.INTERPRETATIONS, OperationKind.RECOVERY)

# Older operations are not looked at. Chosen: an inventory of a million proofs takes hours; half might be too short for
# a throttled one, twice only reads more.
_LONGEST_OPERATION = timedelta(days=1)


def runs_at_rest(results: Results, clock: Callable[[], datetime]) -> list[str]:
    """List the runs of a store in which nobody is at work.

    Raises:
        RunIsActive: somebody is.
        ResultsError: the store cannot be read.
    """
    run_ids = results.run_ids()
    for run_id in run_ids:
        legs = Legs(results, run_id)
        if (leg := legs.last()) and legs.is_active(leg):
            raise RunIsActive(f"Leg {leg} of run {run_id} is at work: redact when no run is.")
    watches = Results(ingest_store(results.store.url))
    for watch in watched_ids(watches.store):
        if Lease(watches, watch).active_claim() is not None:
            raise RunIsActive("A folder is being watched with this results store: stop proofsweep ingest, then redact.")
        if Watch(watches.store, watch).moves()[1]:
            raise RunIsActive("A pass over a watched folder has not ended its moves: make another pass, then redact.")
    operations, since = Operations(results), new_run_id(clock() - _LONGEST_OPERATION, "")
    for kind, operation_id in filter(None, in_parallel(operations.ids(since), partial(_at_work, operations))):
        raise RunIsActive(f"The {kind} {operation_id} is at work: redact when it has ended.")
    return run_ids


def _at_work(operations: Operations, operation_id: str) -> tuple[str, str] | None:
    """Give the kind of an operation that writes of items and is worked on."""
    lease = operations.lease(operation_id)
    if operations.receipt(operation_id) is not None or not lease.last() or not lease.is_active(lease.last()):
        return None
    operation = operations.operation(operation_id)
    return (operation.kind, operation_id) if operation is not None and operation.kind in _OF_ITEMS else None
