"""Ask the service to erase one proof after the other (contract, Endpoints 7), and lose no answer.

Each answer is in the journal before the next proof is asked for. A repeat of a list asks for all of it again: the
service says `already_erased` of what is gone.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from http import HTTPStatus
from io import StringIO
from pathlib import Path

from proofsweep.client.client import Partner
from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import CallFailed, ResultsError, RunMustStop, UsageError
from proofsweep.domain.operations import OperationKind
from proofsweep.domain.text import text_of_file
from proofsweep.operations.operation import KilledOperations, OperationContext, OperationLog, operation_begun
from proofsweep.operations.results import Erasure, ProofList, cells_of, counts_of, proof_list
from proofsweep.queries.connection import opened
from proofsweep.store.lease import Lease, sole_process
from proofsweep.store.operations import OperationJournals, Operations
from proofsweep.store.parts import Results
from proofsweep.store.tables import GONE

_MOST_OUTAGES = 3  # proofs in a row for which the service is down


def erased_one_by_one(
    partner: Partner, log: OperationLog, journals: OperationJournals, clock: Callable[[], datetime], wanted: ProofList
) -> Iterator[Erasure]:
    """Erase, and yield what became of each proof once it is recorded; RunMustStop if no more calls can be made."""
    outages = 0
    for number, proof_id in enumerate(wanted.proof_ids):
        partner.session.stop.check()
        erasure = _erased(partner, proof_id, clock)
        try:
            journals.add(log.operation.operation_id, number, [erasure.row()])
        finally:  # the end of the operation tries to write it once more
            log.add("erasures", [erasure.row()])
        yield erasure
        outages = outages + 1 if _is_outage(erasure) else 0
        if outages == _MOST_OUTAGES:
            why = f"The service fails for {outages} proofs in a row ({erasure.reason}), so no other was asked for."
            raise RunMustStop(why, ended_by=EndedBy.BREAKER)


def _erased(partner: Partner, proof_id: str, clock: Callable[[], datetime]) -> Erasure:
    asked_at = clock()
    blank = Erasure(proof_id=proof_id, asked_at=asked_at, answered_at=asked_at)
    try:
        answer, headers = partner.erase(proof_id)
    except CallFailed as failed:
        facts = {"http_status": failed.status, "reason": failed.reason, "request_id": failed.request_id}
        return replace(blank, answered_at=clock(), **facts)  # type: ignore[arg-type]  # facts of their types
    is_of_another = answer.proof_id not in {None, proof_id}  # it is no receipt, nor is one with another word
    reason = "bad_answer" if is_of_another else None if answer.outcome in GONE else "unknown_outcome"
    received = {"outcome": answer.outcome, "erased_at": answer.erased_at, "request_id": headers.request_id}
    return replace(blank, answered_at=clock(), reason=reason, **received)  # type: ignore[arg-type]  # of their types


def _is_outage(erasure: Erasure) -> bool:
    if erasure.reason is None or erasure.reason in {"bad_answer", "unknown_outcome"}:
        return False
    return erasure.http_status is None or erasure.http_status >= HTTPStatus.INTERNAL_SERVER_ERROR


_BUSY = "Another process erases proofs with this results store; wait until it has ended."


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasureReport:
    operation_id: str
    erasures: Sequence[Erasure]  # of the proofs that were asked for
    not_asked: int  # how many were not
    recovered: int  # answers of killed erasures that are in the table only now
    stopped: RunMustStop | None = None  # why not all were asked for


def read_proof_list(proof_ids: Sequence[str], file: Path | None) -> ProofList:
    """Read named IDs, and those of a file, one a line or a CSV's `proof_id`; UsageError if one is bad or none there."""
    named = [(f"ID {number} of the command", proof_id) for number, proof_id in enumerate(proof_ids, start=1)]
    if file is None:
        return proof_list(named)
    try:
        lines = StringIO(text_of_file(file.read_bytes()), newline="").readlines()
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise UsageError(f"{file} cannot be read ({why}); nothing was erased.") from error
    return proof_list([*named, *cells_of(lines, str(file))])


def names_of(results: Results, environment: str, wanted: ProofList) -> dict[str, str]:
    query = (
        "SELECT proof_id, arg_max(coalesce(relative_path, audio), finished_at) FROM verdicts "
        "SEMI JOIN (SELECT unnest(?) AS proof_id) USING (proof_id) GROUP BY proof_id"
    )
    with suppress(ResultsError), opened(results, environment, asked=query) as store:
        return dict(store.connection.execute(query, [list(wanted.proof_ids)]).fetchall())
    return {}


def erase_proofs(
    context: OperationContext, wanted: ProofList, told: Callable[[Erasure], object] = lambda _erasure: None
) -> ErasureReport:
    """Erase the proofs of a list for good, one by one, and call `told` with each; RunIsActive if another does."""
    store = context.results.store.within("_erasing")
    journals = OperationJournals(store, "erasures")
    killed = killed_erasures(context.results, journals, context.clock)
    erasures: list[Erasure] = []
    stopped, operation_id = None, ""
    with sole_process(Lease(Results(store), "erasures", context.clock, busy=_BUSY)):
        recovered = sum(len(killed.end(each)) for each in journals.open())
        intent = {"proofs": len(wanted.proof_ids), "list_sha256": wanted.sha256}
        try:
            with operation_begun(context, OperationKind.ERASURE, intent) as work:
                operation_id = work.operation_id
                try:
                    for erasure in erased_one_by_one(work.partner, work.log, journals, context.clock, wanted):
                        erasures.append(erasure)
                        told(erasure)
                finally:
                    work.counts.update(counts_of(each.row() for each in erasures))
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


def killed_erasures(results: Results, journals: OperationJournals, clock: Callable[[], datetime]) -> KilledOperations:
    return KilledOperations(
        journals=journals,
        operations=Operations(results),
        clock=clock,
        table="erasures",
        key="proof_id",
        counts_of=counts_of,
    )
