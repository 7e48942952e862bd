"""Erasures, wired: from a list of proofs to the partner and the table."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from proofsweep.answers.views.connection import opened
from proofsweep.errors import ResultsError, RunMustStop, UsageError
from proofsweep.model.erasure import Erasure, ProofList, cells_of, counts_of, proof_list
from proofsweep.model.operations import OperationKind
from proofsweep.model.tables import erasures as table
from proofsweep.operations.erase_proofs import EraseProofs
from proofsweep.operations.killed_operations import KilledOperations
from proofsweep.settings import Settings
from proofsweep.store.lease import Lease
from proofsweep.store.operation_journals import OperationJournals
from proofsweep.store.operations import Operations
from proofsweep.store.plans_and_parts import Results
from proofsweep.store.sole_process import sole_process
from proofsweep.wiring.engines import ReadBlock, utc_now
from proofsweep.wiring.operations import OperationWork, operation_begun
from proofsweep.wiring.stores import results_for

_BUSY = "Another process erases proofs with this results store; wait until it has ended."


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasureReport:
    """What became of a list.

    Attributes:
        erasures: of the proofs that were asked for.
        not_asked: how many were not.
        recovered: answers of killed erasures that are in the table only now.
        stopped: why not all were asked for.
    """

    operation_id: str
    erasures: Sequence[Erasure]
    not_asked: int
    recovered: int
    stopped: RunMustStop | None = None


def read_proof_list(proof_ids: Sequence[str], file: Path | None) -> ProofList:
    """Read the IDs that are named, and those in a file: one a line, or the column `proof_id` of a CSV file.

    Raises:
        UsageError: the file cannot be read, an ID cannot be one, or there is none.
    """
    named = [(f"ID {number} of the command", proof_id) for number, proof_id in enumerate(proof_ids, start=1)]
    if file is None:
        return proof_list(named)
    try:
        with file.open(encoding="utf-8-sig", newline="") as stream:
            lines = stream.readlines()
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise UsageError(f"{file} cannot be read ({why}); nothing was erased.") from error
    return proof_list([*named, *cells_of(lines, str(file))])


def names_of(settings: Settings, wanted: ProofList) -> dict[str, str]:
    """Give the files of proofs, as the newest row of `verdicts` that names a proof says it."""
    query = (
        "SELECT proof_id, arg_max(coalesce(relative_path, audio), finished_at) FROM verdicts "
        "SEMI JOIN (SELECT unnest(?) AS proof_id) USING (proof_id) GROUP BY proof_id"
    )
    with suppress(ResultsError), opened(results_for(settings), settings.service.environment, with_tags=False) as store:
        return dict(store.connection.execute(query, [list(wanted.proof_ids)]).fetchall())
    return {}


def erase_proofs(
    settings: Settings,
    wanted: ProofList,
    read_block: ReadBlock | None,
    told: Callable[[Erasure], object] = lambda _erasure: None,
) -> ErasureReport:
    """Erase the proofs of a list for good, one after the other; `told` hears of each.

    Raises:
        ConfigError, ResultsError: nothing was asked for, or an answer could not be recorded.
        RunIsActive: another process erases with this store.
    """
    results = results_for(settings)
    store = results.store.within("_erasing")
    journals = OperationJournals(store, table.COLUMNS)
    killed = killed_erasures(results, journals)
    erasures: list[Erasure] = []
    stopped, operation_id = None, ""
    with sole_process(Lease(Results(store), "erasures", utc_now, busy=_BUSY)):
        recovered = sum(len(killed.end(each)) for each in journals.open())
        intent = {"proofs": len(wanted.proof_ids), "list_sha256": wanted.sha256}
        try:
            with operation_begun(settings, OperationKind.ERASURE, read_block, intent=intent) as work:
                operation_id = work.log.operation.operation_id
                _erase(work, journals, wanted, [erasures.append, told])
        except RunMustStop as stop:
            stopped = stop
        journals.delete(operation_id)
    return ErasureReport(
        operation_id=operation_id,
        erasures=erasures,
        not_asked=len(wanted.proof_ids) - len(erasures),
        recovered=recovered,
        stopped=stopped,
    )


def killed_erasures(results: Results, journals: OperationJournals) -> KilledOperations:
    """Give what puts the answers of killed erasures into the table."""
    return KilledOperations(
        journals=journals,
        operations=Operations(results),
        clock=utc_now,
        table="erasures",
        key="proof_id",
        counts_of=counts_of,
    )


def _erase(
    work: OperationWork, journals: OperationJournals, wanted: ProofList, hearers: Sequence[Callable[[Erasure], object]]
) -> None:
    erasures: list[Erasure] = []
    try:
        for erasure in EraseProofs(partner=work.partner, log=work.log, journals=journals, clock=utc_now).erase(wanted):
            erasures.append(erasure)
            for hear in hearers:
                hear(erasure)
    finally:
        work.counts.update(counts_of(each.row() for each in erasures))
