"""List all proofs, reconcile them with the newest answers, and write one row for each."""

from collections import Counter

from proofsweep.errors import CallFailed
from proofsweep.model.proofs import Inventory
from proofsweep.operations.list_proofs import ProofListing
from proofsweep.operations.operation_log import OperationLog
from proofsweep.operations.outage_guard import OutageGuard
from proofsweep.operations.reconcile import arrow_of, reconciled
from proofsweep.partner.partner import Partner
from proofsweep.store.plans_and_parts import Results


def take_inventory(partner: Partner, results: Results, log: OperationLog) -> Inventory:
    """Take the inventory of the log's environment.

    (1) the whole listing, compactly in memory, (2) its comparison with the answers, row by row into the log.

    Raises:
        CallFailed, RunMustStop: the listing cannot be had; no row is written.
        ResultsError: the store cannot be read or written.
    """
    listing, operation = ProofListing(partner), log.operation
    try:
        pages = [arrow_of(page) for page in listing.pages() if page]  # (1)
    except CallFailed as failed:
        OutageGuard(partner, most_failures=1).failed(failed)
        raise
    states: Counter[str] = Counter()
    for rows in reconciled(results, operation.environment, pages):  # (2)
        log.add("proofs", rows)
        states.update(str(row["state"]) for row in rows)
    return Inventory(
        operation_id=operation.operation_id, states=states, unnamed=listing.unnamed, problem=listing.problem
    )
