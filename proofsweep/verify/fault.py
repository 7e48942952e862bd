"""What a strange outcome puts in question, and what is evidence for it: two rules. Pure; one for each leg.

F. An item fails: 5xx, time-out, hang-up, 403, or 404 for its upload. It is tried at least once more. Its row is written
   if the service was seen to work after its last try, and its tries weigh enough: by what `CallsBeside` knows of other
   files' calls.
R. A refusal, a status that speaks of the content (422), or a file that cannot be read, is believed at once, unless
   these bytes were accepted before, fifty refusals in a row of one mode were alike, ten files in a row of one mode, or
   the first ones, got no verdict, or the file's folder may be away.

What is in question waits, and other files go on: the answer to one of them is its evidence. Only where there is none,
since very many wait or nothing else is left, something whose answer is known is checked:

    in question    evidence, by an item that began later    check                           comes out right
    SERVICE        a verdict in the same mode               the probe audio is sent; of     with an answer
                                                            content, known files first
    REGISTRY       an acceptance in the same mode           up to three known files sent    if most are accepted
    SOURCE         another file of its folder is read       the folder is looked at         if it is there

    check               what waits                        the leg
    right, or nothing   is written                        goes on
      is known
    wrong               is tried again at the end         only checks go, until one is right; after `outage_seconds`
                                                          it ends with 7 or 8. Without a folder, other files go on first
    not possible now    remains                           ends with its quota or window
"""

import math
from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from http import HTTPStatus

from proofsweep.domain.exchanges import Call, Exchange, may_be_outage
from proofsweep.domain.items import Mode, proof_id_of
from proofsweep.domain.outcomes import Accepted, Failed, Finished, Rejected
from proofsweep.domain.reasons import Ineligible, Reason, about

ALIKE = 50  # so many refusals in a row are strange
UNJUDGED = 10  # so many files in a row whose content is refused without a verdict
ACCEPTED_ALIKE = 100  # acceptances before any refusal: the two calls of a probe are a hundredth of theirs
ENOUGH_BITS = 30.0  # of evidence against a file: chance makes as much once in a thousand million times
ALONE_BITS = 10.0  # of a try at the leg's end, beside which no other file was asked: three of them are enough
_BESIDE_SECONDS = 1.0  # how near two calls are beside each other; an outage that fails a whole try takes longer
_CALLS_KEPT = 5_000  # of each mode and call: some minutes of the fastest lane
# Statuses of POST /verify that speak of what was sent. A 403 speaks of the key, a 408 of the connection.
REFUSED_CONTENT = frozenset(range(400, 500)) - {HTTPStatus.FORBIDDEN, HTTPStatus.REQUEST_TIMEOUT}
# Those of them that speak of the upload. Storage that loses what it took, for a while, brings them for good files too.
_UPLOAD_GONE = frozenset({HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT, HTTPStatus.GONE})


class InQuestion(StrEnum):
    SERVICE = "service"
    REGISTRY = "registry"
    SOURCE = "source"


@dataclass(frozen=True, slots=True)
class Question:
    what: InQuestion
    where: str  # the mode; of SOURCE the folder, or the bucket


@dataclass(slots=True)
class Rules:
    """Judges the outcomes of a leg, in the order in which they come."""

    _alike: dict[Mode, tuple[str, int]] = field(default_factory=dict)  # the last verdict, and how often in a row
    _refuses: set[Mode] = field(default_factory=set)  # modes in which the service was seen to refuse something
    _unjudged: dict[Mode, int] = field(default_factory=dict)  # files since the last verdict that got another answer

    def question_of(self, done: Finished, folder: str, *, was_accepted: bool) -> Question | None:
        """Return what an outcome puts in question, None if it is believed. `was_accepted` says it of these bytes."""
        mode = done.item.mode
        if done.earlier is not None:  # the answer of another run
            return None
        match done.outcome:
            case Accepted():
                self._count(mode, "accepted")
            case Rejected(reason=reason):
                self._refuses.add(mode)
                if self._count(mode, reason) >= ALIKE or was_accepted:
                    return Question(InQuestion.REGISTRY, mode)
            case Ineligible(reason=Reason.MISSING_AUDIO) if done.item.is_delivered and done.item.ineligible is not None:
                pass  # a finding of the plan, which read the message in the same folder
            case Failed() if is_of_content(done) and self.has_judged(mode):
                self._unjudged[mode] += 1
                if self._unjudged[mode] >= UNJUDGED:
                    return Question(InQuestion.SERVICE, mode)
            case Failed(reason=reason) if not about(reason).may_be_outage or proof_id_of(done.item.audio):
                return Question(InQuestion.SERVICE, mode)
            case Failed(reason=reason) | Ineligible(reason=reason) if about(reason).may_be_outage and done.item.audio:
                return Question(InQuestion.SOURCE, folder)
        return None

    def has_judged(self, mode: Mode) -> bool:
        return mode in self._unjudged

    def accepts_all(self, mode: Mode) -> bool:
        """Whether so much was accepted, and nothing refused, that the service may accept anything."""
        if mode in self._refuses:
            return False
        verdict, count = self._alike.get(mode, ("", 0))
        return verdict == "accepted" and count >= ACCEPTED_ALIKE

    def record_refused_probe(self, mode: Mode) -> None:
        self._refuses.add(mode)

    def doubt_verdicts(self) -> None:
        """Forget that the service judges: a check came out wrong."""
        self._unjudged.clear()

    def _count(self, mode: Mode, verdict: str) -> int:
        last, count = self._alike.get(mode, (verdict, 0))
        count = count + 1 if last == verdict else 1
        self._alike[mode] = verdict, count
        self._unjudged[mode] = 0
        return count


@dataclass(frozen=True, slots=True)
class EndedCall:
    """A call of a file: when it began and ended, in monotonic seconds, and whether it came out right."""

    call: Call
    began_at: float
    ended_at: float
    is_right: bool


def ended_calls(exchanges: Sequence[Exchange], now: float) -> list[EndedCall]:
    """Return the calls of a try that has just ended; a wait that the service asked for is none."""
    calls: list[EndedCall] = []
    for exchange in exchanges:
        if exchange.is_throttled:
            continue
        # Exchanges have times of a wall clock. The calls of several threads are compared by the monotonic one.
        before_last = exchanges[-1].ended_at - exchange.ended_at
        ended_at = now - before_last.total_seconds()
        began_at = ended_at - exchange.elapsed_ms / 1_000
        calls.append(EndedCall(exchange.call, began_at, ended_at, exchange.is_success))
    return calls


@dataclass(slots=True)
class CallsBeside:
    """How the calls went that failed by no file's fault: of files that were answered in the end, and of checks.

    A call that failed counts against its file only if such a call came out right within a second before it, and another
    one within a second after it: in an outage there is none. It counts as much as it is rare that one fails for no
    fault of its file, at that time and in the whole leg: where half of them do, one bit.
    """

    _calls: defaultdict[tuple[Mode, Call], deque[EndedCall]] = field(
        default_factory=lambda: defaultdict(lambda: deque(maxlen=_CALLS_KEPT))
    )

    def record(self, mode: Mode, calls: Sequence[EndedCall]) -> None:
        """Take note of all calls of a check, or of a file that was answered, those of its earlier tries too."""
        for call in calls:
            self._calls[mode, call.call].append(call)

    def bits_against(self, mode: Mode, failed: Sequence[EndedCall], alone_bits: float) -> float:
        """Return how much calls that failed say against their file; `alone_bits` if no others show anything."""
        if not failed:
            return ENOUGH_BITS
        bits = usual_bits = 0.0
        has_trouble = False
        for call in failed:
            beside = self._beside(mode, call)
            bits += self._bits(mode, call, beside)
            usual_bits += self._usual_bits(mode, call.call)
            has_trouble = has_trouble or not all(other.is_right for other in beside)
        # If no other file shows trouble at that time, a try weighs up to `alone_bits`, also with no call beside it.
        if not has_trouble:
            bits = max(bits, min(alone_bits, usual_bits))
        return min(ENOUGH_BITS, bits)

    def _beside(self, mode: Mode, call: EndedCall) -> list[EndedCall]:
        since = call.began_at - _BESIDE_SECONDS
        until = call.ended_at + _BESIDE_SECONDS
        return [other for other in self._calls[mode, call.call] if since <= other.ended_at <= until]

    def _bits(self, mode: Mode, failed: EndedCall, beside: Sequence[EndedCall]) -> float:
        right = [call.ended_at for call in beside if call.is_right]
        if not right:
            return 0.0
        # One before it and one after it: in an outage that began or ended meanwhile, there is one of them only.
        middle = (failed.began_at + failed.ended_at) / 2
        if not min(right) <= middle <= max(right):
            return 0.0
        share_beside = 1.0 - len(right) / len(beside)
        beside_bits = -math.log2(share_beside) if share_beside else ENOUGH_BITS
        return min(beside_bits, self._usual_bits(mode, failed.call))

    def _usual_bits(self, mode: Mode, call: Call) -> float:
        """Return what a failed call says of its file: by how often one fails in this leg for no fault of its file."""
        # Laplace's rule of succession: few calls that came out right do not show that the next one would.
        calls = self._calls[mode, call]
        wrong = sum(not call.is_right for call in calls)
        return math.log2((len(calls) + 2) / (wrong + 1))


def is_of_content(done: Finished) -> bool:
    """Whether the service failed an item by an answer that speaks of what was sent; no wait heals that."""
    if not isinstance(done.outcome, Failed) or not done.exchanges:
        return False
    last = done.exchanges[-1]
    if last.call is not Call.VERIFY or may_be_outage(last):
        return False
    return last.status in REFUSED_CONTENT - _UPLOAD_GONE


def shown_by(done: Finished, question: Question | None, folder: str) -> list[Question]:
    """Return what an outcome is evidence for; a copy of another answer shows nothing of the service."""
    shown = []
    if isinstance(done.outcome, Accepted | Rejected) and done.original is None and done.earlier is None:
        shown.append(Question(InQuestion.SERVICE, done.item.mode))
        if isinstance(done.outcome, Accepted):
            shown.append(Question(InQuestion.REGISTRY, done.item.mode))
    if done.read is not None and (question is None or question.what is not InQuestion.SOURCE):
        shown.append(Question(InQuestion.SOURCE, folder))
    return shown
