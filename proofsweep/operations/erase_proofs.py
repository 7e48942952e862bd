"""Ask the service to erase one proof after the other (contract, Endpoints 7), and lose no answer.

Each answer is in the journal before the next proof is asked for. A repeat of a list asks for all of it again: the
service says `already_erased` of what is gone.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from http import HTTPStatus

from proofsweep.contract.headers import AnswerHeaders
from proofsweep.contract.models import EraseProofResponse
from proofsweep.endings import EndedBy
from proofsweep.errors import CallFailed, RunMustStop
from proofsweep.model.proofs import GONE, Erasure, ProofList
from proofsweep.operations.operation_log import OperationLog
from proofsweep.partner.partner import Partner
from proofsweep.store.operations import OperationJournals

# Proofs in a row for which the service is down. Chosen: any value from 1 to 6 does.
_MOST_OUTAGES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class EraseProofs:
    """Erases the proofs of one list, in an operation that has begun."""

    partner: Partner
    log: OperationLog
    journals: OperationJournals
    clock: Callable[[], datetime]

    def erase(self, wanted: ProofList) -> Iterator[Erasure]:
        """Erase, and yield what became of each proof once it is recorded; RunMustStop if no more calls can be made."""
        operation_id, outages = self.log.operation.operation_id, 0
        for number, proof_id in enumerate(wanted.proof_ids):
            self.partner.session.stop.check()
            erasure = self._erased(proof_id)
            try:
                self.journals.add(operation_id, number, [erasure.row()])
            finally:  # the end of the operation tries to write it once more
                self.log.add("erasures", [erasure.row()])
            yield erasure
            outages = outages + 1 if _is_outage(erasure) else 0
            if outages == _MOST_OUTAGES:
                why = f"The service fails for {outages} proofs in a row ({erasure.reason}), so no other was asked for."
                raise RunMustStop(why, ended_by=EndedBy.BREAKER)

    def _erased(self, proof_id: str) -> Erasure:
        asked_at = self.clock()
        blank = Erasure(proof_id=proof_id, asked_at=asked_at, answered_at=asked_at)
        try:
            answer, headers = self.partner.erase(proof_id)
        except CallFailed as failed:
            facts = {"http_status": failed.status, "reason": failed.reason, "request_id": failed.request_id}
            return replace(blank, answered_at=self.clock(), **facts)  # type: ignore[arg-type]  # facts of their types
        return _answered(replace(blank, answered_at=self.clock()), answer, headers)


def _answered(blank: Erasure, answer: EraseProofResponse, headers: AnswerHeaders) -> Erasure:
    """Keep what was received; an answer about another proof, or with another word, is no receipt."""
    is_of_another = answer.proof_id not in {None, blank.proof_id}
    reason = "bad_answer" if is_of_another else None if answer.outcome in GONE else "unknown_outcome"
    return replace(
        blank, outcome=answer.outcome, erased_at=answer.erased_at, request_id=headers.request_id, reason=reason
    )


def _is_outage(erasure: Erasure) -> bool:
    if erasure.reason is None or erasure.reason in {"bad_answer", "unknown_outcome"}:
        return False
    return erasure.http_status is None or erasure.http_status >= HTTPStatus.INTERNAL_SERVER_ERROR
