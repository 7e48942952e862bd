"""Whose fault is a strange outcome: the item's or the world's? Pure: the time is an argument, in monotonic seconds.

A control is a call whose answer is known. A strange outcome is believed exactly if the control beside it comes out as
it must. Each kind of doubt has a control of its own, in the mode of what is in doubt:

    what happened                        doubt    control                                comes out right
    5xx, connection lost, bad answer     SERVICE  the probe audio                        with any answer but `valid`
    time-out of an upload or a verify    SIZE     a known-good file or an accepted       with an answer
                                                  item at least as large
    403 with an API key                  KEY      the probe audio, the key read again    as for SERVICE
    422 or another 4xx; refused although CONTENT  up to three known-good files and       if most are accepted
    these bytes were accepted; twenty             accepted items, unchanged; if
    refusals alike in a row                       none is known, for fifty failures
                                                  the probe audio                        with a verdict
    a file cannot be read                SOURCE   files of the same root                 if one can be read
    twenty files damaged in a row        BYTES    accepted files of the same root, read  if one has the same bytes

    control           the row              the leg                            the next night
    right             is written           goes on                            nothing
    wrong             remains, put aside   only controls go, until one is     the row comes last
                                           right; after `breaker_seconds`
                                           the leg ends with 7 or 8
    cannot be made    SIZE: put aside. CONTENT: a refusal is written; a       the row comes last, if it
                      failure is written at the end, or when a hundred wait.  has none
                      BYTES: written
    not possible now  remains, put aside   ends with its quota or window      the row comes last

A control decides only about tries that ended before it began; a wrong one since a try began makes that try worthless.
What is put aside is tried again last in the same leg, and what is in doubt still then remains: the leg ends with 8.
"""

import math
from dataclasses import dataclass, field
from enum import StrEnum
from http import HTTPStatus

from proofsweep.domain.exchanges import Call, Exchange, Failure, may_be_outage
from proofsweep.domain.items import Mode, proof_id_of
from proofsweep.domain.outcomes import Accepted, Failed, Finished, Rejected
from proofsweep.domain.reasons import Ineligible, Reason, about

REFUSALS_IN_A_ROW = 20  # so many refusals, or damaged files, alike in a row are strange
TRIES_IN_A_ROW = 100  # so many tries in a row without an answer wait for the next control
# So many failures of content that no known file can be held against are held against the probe audio.
FAILURES_ALONE = 50
_LONGEST_WAITS = 6  # the wait between two controls doubles up to six times the first one: 10 to 60 s


class Doubt(StrEnum):
    SERVICE = "service"
    SIZE = "size"
    KEY = "key"
    CONTENT = "content"
    SOURCE = "source"
    BYTES = "bytes"

    @property
    def is_of_root(self) -> bool:
        """Whether it is about a folder or bucket; then its control makes no call."""
        return self in {Doubt.SOURCE, Doubt.BYTES}


class ControlFinding(StrEnum):
    RIGHT = "right"
    WRONG = "wrong"
    NO_CONTROL = "no control"
    NOT_NOW = "not now"


@dataclass(frozen=True, slots=True)
class Subject:
    """What is in doubt: the kind, the mode, and for SOURCE and BYTES the root."""

    doubt: Doubt
    mode: Mode
    root: str = ""


def doubt_about(done: Finished, *, was_accepted: bool, refusals_alike: int) -> Doubt | None:
    """Return what an outcome makes doubtful; None if nothing is strange about it.

    `was_accepted` says it of these same bytes. `refusals_alike` are those of its mode in a row, this one included, or
    the files that were damaged in a row.
    """
    match done.outcome:
        case Rejected():
            doubt = Doubt.CONTENT if was_accepted or refusals_alike >= REFUSALS_IN_A_ROW else None
        case Ineligible(reason=Reason.DAMAGED_IN_DELIVERY):
            doubt = Doubt.BYTES if refusals_alike >= REFUSALS_IN_A_ROW else None
        case Ineligible(reason=reason):
            doubt = Doubt.SOURCE if about(reason).may_be_outage and done.item.audio else None
        case Failed(reason=Reason.SOURCE_CHANGED):
            doubt = None
        case Failed(reason=Reason.SOURCE_UNAVAILABLE) if proof_id_of(done.item.audio) is None:
            doubt = Doubt.SOURCE
        case Failed():
            doubt = _doubt_about_failure(done.exchanges[-1]) if done.exchanges else Doubt.SERVICE
        case _:
            doubt = None
    return doubt


def _doubt_about_failure(last: Exchange) -> Doubt | None:
    if last.call.is_keyed and last.status == HTTPStatus.FORBIDDEN:
        return Doubt.KEY
    if last.failure is Failure.TIMEOUT and last.call in {Call.SLOT, Call.VERIFY}:
        return Doubt.SIZE
    if last.call is Call.VERIFY and not may_be_outage(last):
        return Doubt.CONTENT
    return Doubt.SERVICE if may_be_outage(last) or last.call is Call.SLOT else None


@dataclass(slots=True)
class Schedule:
    """When the controls of one subject may begin; `first_wait_seconds` lie between the first and the second."""

    first_wait_seconds: float
    due_at: float = -math.inf
    _asked: int = 0

    def began(self, now: float) -> None:
        self.due_at = now + self.first_wait_seconds * min(2**self._asked, _LONGEST_WAITS)
        self._asked = min(self._asked + 1, _LONGEST_WAITS)


@dataclass(slots=True)
class Streaks:
    """Refusals of each mode, and damaged files, that came alike in a row."""

    _damaged: int = 0
    _refusals: dict[Mode, tuple[str, int]] = field(default_factory=dict)

    def note(self, done: Finished) -> int:
        """Count an outcome, and return how many came alike in a row; 0 for one that is neither."""
        mode, damaged = done.item.mode, self._damaged
        self._damaged = 0
        match done.outcome:
            case Ineligible(reason=reason):
                is_damaged = reason is Reason.DAMAGED_IN_DELIVERY
                self._damaged = damaged + is_damaged
                return self._damaged if is_damaged else 0
            case Rejected(reason=reason):
                last, alike = self._refusals.get(mode, (reason, 0))
                alike = alike + 1 if last == reason else 1
                self._refusals[mode] = reason, alike
                return alike
            case Accepted():
                self._refusals.pop(mode, None)
        return 0
