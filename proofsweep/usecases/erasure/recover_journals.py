"""Let one erasure at a time work in a store, and put the answers of killed ones into the table."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime

from proofsweep.domain.erasure import Erasure, counts_of
from proofsweep.domain.runs import HEARTBEAT_SECONDS, EndedBy
from proofsweep.errors import NameTaken, ResultsError, RunIsActive
from proofsweep.storage.results.erasure_journal import ErasureJournals
from proofsweep.storage.results.legs import Legs
from proofsweep.storage.results.operations import Operations
from proofsweep.usecases.leg.background import beside
from proofsweep.usecases.operations.operation_log import OperationLog

_BUSY = "Another process erases proofs with this results store; wait until it has ended."


@contextmanager
def only_erasure(claims: Legs) -> Iterator[None]:
    """Hold the claim on the erasures of a store for the work inside.

    Raises:
        RunIsActive: another process holds it.
        ResultsError: the store cannot be used.
    """
    last = claims.last()
    if last and claims.is_active(last):
        raise RunIsActive(_BUSY)
    try:
        claims.claim(last + 1)
    except NameTaken as taken:
        raise RunIsActive(_BUSY) from taken

    def keep(over: threading.Event) -> None:
        while not over.wait(HEARTBEAT_SECONDS):
            with suppress(ResultsError):  # the next one is soon
                claims.beat(last + 1)

    try:
        with beside("erasure", keep):
            yield
    finally:
        with suppress(NameTaken):
            claims.write_receipt(last + 1, {"ended_at": claims.clock().isoformat()})


def recover_journals(
    journals: ErasureJournals, operations: Operations, clock: Callable[[], datetime]
) -> Iterator[Erasure]:
    """Put the answers of erasures that were killed into the table, and write their receipts; the claim must be held.

    Raises:
        ResultsError: the store cannot be used, or a journal is damaged.
    """
    for operation_id in journals.open():
        operation = operations.operation(operation_id)
        if operation is not None and operations.receipt(operation_id) is None:
            log = OperationLog(operation, operations, clock)
            log.continue_after_kill()
            found, published = list(journals.read(operation_id)), _published(operations, log)
            log.add("erasures", [each.row() for each in found if each.proof_id not in published])
            log.end(EndedBy.KILLED, {"counts": counts_of(found)}, "The process was killed.")
            yield from found
        journals.delete(operation_id)


def _published(operations: Operations, log: OperationLog) -> frozenset[str]:
    names = [name for name in operations.parts_of(log.operation) if name.startswith("erasures/")]
    return frozenset(map(str, operations.results.table("erasures", names, ["proof_id"])["proof_id"].to_pylist()))
