"""Ask for process notes until they are ready (contract, Endpoints 9): polling, within a budget of calls."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from http import HTTPStatus
from itertools import islice

from proofsweep.config.threads import some_at_once
from proofsweep.domain.errors import CallFailed
from proofsweep.domain.exchanges import Call, Exchange
from proofsweep.domain.items import Row
from proofsweep.domain.models import Interpretation
from proofsweep.domain.operations import OperationKind
from proofsweep.domain.text import counted
from proofsweep.operations.operation import CALLS_AT_ONCE, OperationLeg, Operator
from proofsweep.queries.connection import opened
from proofsweep.store.parts import Results

_UNAVAILABLE_HOLDS = timedelta(days=7)  # how long an answer `unavailable` is taken for final
_USUAL_WAIT_SECONDS = 2.0  # contract, Endpoints 9: the wait that is suggested when the answer suggests none
_MOST_SECONDS = 120.0  # contract, Endpoints 9: a client may stop polling after about two minutes and check later
_BATCH = 64  # notes that are asked for before those that wait are looked at again
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
    AND (status IS NULL OR status NOT IN ('gone', 'unavailable') OR accepted.finished_at > asked_at
        OR (status = 'unavailable' AND asked_at < $since))
ORDER BY asked_at NULLS FIRST, accepted.finished_at DESC
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotesRefreshed:
    operation_id: str | None  # None if no note was wanted, so that nothing was asked
    wanted: int  # accepted proofs without a ready note
    states: Mapping[str, int]  # rows of the table `interpretations` by status

    def line(self) -> str:
        if not self.wanted:
            return "Every accepted proof has its note, or has none to come."
        states = ", ".join(f"{count:,} {status}" for status, count in sorted(self.states.items()))
        return f"{counted(self.wanted, 'proof')} without a note: {states}"


def refresh_notes(operator: Operator, max_calls: int | None = None) -> NotesRefreshed:
    wanted = wanted_notes(operator.results, operator.environment, operator.service.clock())
    if not wanted:
        return NotesRefreshed(operation_id=None, wanted=0, states={})
    with operator.begun(OperationKind.INTERPRETATIONS, max_calls=max_calls) as work:
        states: Counter[str] = Counter()
        work.said.update({"wanted": len(wanted), "states": states})
        NoteRefresh(work=work, states=states).run(wanted)
    return NotesRefreshed(operation_id=work.operation.operation_id, wanted=len(wanted), states=states)


@dataclass(slots=True)
class Note:
    """The note of a proof, with an item of it, on its way; `due_at` and `began_at` are monotonic seconds."""

    proof_id: str
    item_id: str
    due_at: float = 0.0
    began_at: float | None = None
    asks: int = 0
    last: Exchange | None = None
    answer: Interpretation | None = None


def wanted_notes(results: Results, environment: str, now: datetime) -> list[Note]:
    """List the proofs whose note to ask for: gone ones only if accepted since, unavailable ones after a week."""
    with opened(results, environment, asked=_WANTED) as store:
        rows = store.connection.execute(_WANTED, {"since": now - _UNAVAILABLE_HOLDS}).fetchall()
    return [Note(proof_id, item_id) for proof_id, item_id in rows]


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteRefresh:
    """Asks for notes, some at once; each ends in one row of `interpretations`."""

    work: OperationLeg
    states: Counter[str] = field(default_factory=Counter)  # how many notes ended how
    _pending: dict[str, Note] = field(default_factory=dict)

    def run(self, wanted: Iterable[Note]) -> None:
        """Ask for all notes, two minutes each at most; RunMustStop keeps the rows of those that were asked for."""
        new = iter(wanted)
        try:
            while notes := self._due() or list(islice(new, _BATCH)) or self._awaited():
                for _ in some_at_once(notes, self._ask, CALLS_AT_ONCE):
                    pass
        finally:
            for note in [*self._pending.values()]:
                self._end(note, "pending")

    def _due(self) -> list[Note]:
        now = self._now()
        return [note for note in self._pending.values() if note.due_at <= now]

    def _awaited(self) -> list[Note]:
        first = min(self._pending.values(), key=lambda note: note.due_at, default=None)
        if first is None:
            return []
        self.work.service.stop.rest(first.due_at - self._now())
        return [first]

    def _ask(self, note: Note) -> None:
        note.began_at = self._now() if note.began_at is None else note.began_at
        answer, note.last = self.work.ask(Call.INTERPRETATION, lambda partner: partner.interpretation(note.proof_id))
        note.asks += 1
        if isinstance(answer, CallFailed):
            self._end(note, "gone" if answer.status == HTTPStatus.NOT_FOUND else "failed")
            return
        note.answer, told = answer, answer.retry_after_seconds
        note.due_at = self._now() + (told if told is not None and told > 0 else _USUAL_WAIT_SECONDS)
        if answer.status == "pending" and note.due_at <= note.began_at + _MOST_SECONDS:
            self._pending[note.proof_id] = note
        else:
            self._end(note, answer.status)

    def _end(self, note: Note, status: str) -> None:
        self._pending.pop(note.proof_id, None)
        answer = note.answer or Interpretation(status=status)
        row: Row = {
            "proof_id": note.proof_id,
            "item_id": note.item_id,
            "status": status,
            "text": answer.text,
            "policy_version": answer.policy_version,
            "retry_after_seconds": answer.retry_after_seconds,
            "asks": note.asks,
            "asked_at": self.work.service.clock() if note.last is None else note.last.started_at,
            "request_id": None if note.last is None else note.last.request_id,
        }
        self.work.add([row])
        self.states[status] += 1

    def _now(self) -> float:
        return self.work.service.dispatcher.clock()
