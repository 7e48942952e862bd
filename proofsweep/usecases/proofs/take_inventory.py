"""List all proofs, reconcile them with the newest answers, and write one row for each."""

from collections import Counter

from proofsweep.client.partner import Partner
from proofsweep.domain.proofs import Inventory
from proofsweep.errors import CallFailed
from proofsweep.storage.results.plans_and_parts import Results
from proofsweep.usecases.operations.operation_log import OperationLog
from proofsweep.usecases.operations.outage_guard import OutageGuard
from proofsweep.usecases.proofs.list_proofs import ProofListing
from proofsweep.usecases.proofs.reconcile import arrow_of, reconciled


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
