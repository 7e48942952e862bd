"""Ask for process notes that are not ready yet (contract, Endpoints 9), once each; a pending one again next time."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial
from http import HTTPStatus

from proofsweep.config.threads import some_at_once
from proofsweep.domain.errors import CallFailed, RunMustStop
from proofsweep.domain.exchanges import Call
from proofsweep.domain.items import Row
from proofsweep.domain.models import Interpretation
from proofsweep.domain.runs import OperationKind
from proofsweep.domain.text import counted
from proofsweep.operations.operation import CALLS_AT_ONCE, OperationLeg, OperationReport, Operator, said_counts
from proofsweep.queries.connection import opened
from proofsweep.store.parts import Results

_UNAVAILABLE_HOLDS = timedelta(days=7)  # how long an answer `unavailable` is taken for final
_WANTED = """
WITH notes AS (
    SELECT
        proof_id, max(asked_at) AS asked_at, max_by(status, asked_at) AS status, bool_or(status = 'ready') AS is_ready
    FROM interpretations
    GROUP BY proof_id
), accepted AS (
    SELECT proof_id, max_by(item_id, finished_at) AS item_id, max(finished_at) AS finished_at
    FROM latest_answer
    WHERE accepted AND proof_id NOT IN ('', '.', '..')
    GROUP BY proof_id
)
SELECT accepted.proof_id, accepted.item_id
FROM accepted LEFT JOIN notes USING (proof_id)
WHERE NOT coalesce(is_ready, false)
    AND CASE status
        WHEN 'gone' THEN accepted.finished_at > asked_at
        WHEN 'unavailable' THEN asked_at < $since  -- also of a file that each night accepts anew
        ELSE true
    END
ORDER BY asked_at NULLS FIRST, accepted.finished_at DESC
"""


def refresh_notes(operator: Operator) -> OperationReport:
    """Ask for the notes that accepted proofs lack; if none lacks one, there is no operation."""
    wanted = wanted_notes(operator.results, operator.environment, operator.service.clock())
    if not wanted:
        line = "Every accepted proof has its note, or has none to come."
        return OperationReport(operation_id=None, counts={"wanted": 0}, line=line)
    proofs = counted(len(wanted), "proof")
    answers: list[str] = []
    try:
        with operator.begun(OperationKind.INTERPRETATIONS) as work:
            for _ in some_at_once(wanted, partial(_refreshed, work, answers), CALLS_AT_ONCE):
                continue
    except RunMustStop as stop:
        # What came before the stop is in the table: a person is told how much.
        came = f"{len(answers):,} of {proofs} were asked for: {_said(answers)}."
        raise RunMustStop(f"{stop.message} {came}", ended_by=stop.ended_by, quota_reset=stop.quota_reset) from stop
    line = f"{proofs} without a note: {_said(answers)}"
    counts = {"wanted": len(wanted), **Counter(answers)}
    return OperationReport(operation_id=work.operation.run_id, counts=counts, line=line)


def _said(answers: Sequence[str]) -> str:
    states = Counter(answers)
    words = {state: state for state in sorted(states)}
    return said_counts(states, words)


def wanted_notes(results: Results, environment: str, now: datetime) -> list[tuple[str, str]]:
    """List the proofs whose note to ask for, each with an item: those that were never asked for come first."""
    with opened(results, environment, asked=_WANTED) as store:
        return store.execute(_WANTED, {"since": now - _UNAVAILABLE_HOLDS}).fetchall()


def _refreshed(work: OperationLeg, answers: list[str], wanted: tuple[str, str]) -> None:
    """Ask for one note, and add its status to the `answers`, as its row in the journal has it."""
    proof_id, item_id = wanted
    row: Row = {"proof_id": proof_id, "item_id": item_id, "asked_at": work.service.clock()}
    answer, row["request_id"] = work.ask(Call.INTERPRETATION, lambda partner: partner.interpretation(proof_id))
    if isinstance(answer, CallFailed):
        # Both are asked for again: a proof that is gone, once its file is accepted anew.
        status = "gone" if answer.status == HTTPStatus.NOT_FOUND else "failed"
        answer = Interpretation(status=status)
    work.add(row | answer.model_dump())
    answers.append(answer.status)
