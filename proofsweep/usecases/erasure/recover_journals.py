"""Put the answers of killed erasures into the table."""

from collections.abc import Callable, Iterator
from datetime import datetime

from proofsweep.domain.erasure import Erasure, counts_of
from proofsweep.domain.runs import EndedBy
from proofsweep.storage.results.erasure_journal import ErasureJournals
from proofsweep.storage.results.operations import Operations
from proofsweep.usecases.operations.operation_log import OperationLog


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
