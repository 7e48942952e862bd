"""The outcome of one item: a closed union of values, never an exception; and the verdicts of the contract."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import assert_never

from proofsweep.domain.errors import RunMustStop
from proofsweep.domain.exchanges import Exchange
from proofsweep.domain.items import WorkItem
from proofsweep.domain.models import VerifyResponse
from proofsweep.domain.reasons import Ineligible, Reason, about


class Verdict(StrEnum):
    """The verdicts of the contract, spelled as on the wire."""

    VALID = "valid"
    AUDIO_CHANGED = "audioChanged"
    TAMPERED = "tampered"
    UNREGISTERED = "unregistered"
    UNREADABLE = "unreadable"
    LOCAL_SEAL = "local_seal"


class Action(StrEnum):
    ACCEPT = "accept"
    REJECT = "reject"
    REQUEST_MATCHING_PAIR = "request_matching_pair"
    DO_NOT_ACCEPT_AS_ISSUED = "do_not_accept_as_issued"
    FIX_CATALOG = "fix_catalog"
    TRY_AGAIN = "try_again"


VERDICT_ACTIONS: Mapping[str, Action] = MappingProxyType(
    {
        Verdict.VALID: Action.ACCEPT,
        Verdict.AUDIO_CHANGED: Action.REQUEST_MATCHING_PAIR,
        Verdict.TAMPERED: Action.REJECT,
        Verdict.UNREGISTERED: Action.REJECT,
        Verdict.UNREADABLE: Action.REJECT,
        Verdict.LOCAL_SEAL: Action.DO_NOT_ACCEPT_AS_ISSUED,
    }
)
"""The contract's table of caller actions. FIX_CATALOG and TRY_AGAIN are ours; no verdict leads to them."""

MEANING_OF_VALID = (
    "valid: the service confirmed its own signature, its registry record and the exact audio bytes. "
    "It is a recorded account of the process, not a statement about how the music was made."
)


@dataclass(frozen=True, slots=True)
class Answer:
    response: VerifyResponse
    body_sha256: str


@dataclass(frozen=True, slots=True)
class Accepted:
    """The credential is genuine: `good is True` and the verdict is `valid`."""

    answer: Answer


@dataclass(frozen=True, slots=True)
class Rejected:
    """The service answered, and did not accept the credential. The item is not verified again."""

    answer: Answer
    reason: str
    detail: str
    action: Action


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """The service gave no verdict for this item. That says nothing about the credential."""

    reason: str
    detail: str
    error_code: str | None = None


Outcome = Accepted | Rejected | Failed | Ineligible


@dataclass(frozen=True, slots=True, kw_only=True)
class AudioRead:
    audio_format: str
    size_bytes: int
    version: str | None
    sha256: str | None = None
    sidecar_sha256: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    item: WorkItem
    outcome: Outcome
    started_at: datetime
    finished_at: datetime
    read: AudioRead | None = None
    exchanges: Sequence[Exchange] = field(default=())
    calls_before: int = 0  # keyed calls of earlier tries in this leg
    # another item of this leg with the same bytes, sidecar and mode. Its answer is used for this one.
    original: "Finished | None" = None
    # the `verdicts` row of an earlier run with the same bytes and sidecar, whose answer is used.
    earlier: Mapping[str, object] | None = None


@dataclass(frozen=True, slots=True)
class Deferred:
    """One item without an outcome, because the run must stop. Its row remains."""

    item: WorkItem
    exchanges: Sequence[Exchange] = ()
    stopped: RunMustStop | None = None  # why no other call could be made for it
    shortage: str | None = None  # what this machine is short of now, in a sentence


def outcome_of(answer: Answer) -> Accepted | Rejected:
    good, verdict = answer.response.good, answer.response.verdict
    if good is True and verdict == Verdict.VALID:
        return Accepted(answer)
    if verdict not in VERDICT_ACTIONS:
        return Rejected(answer, Reason.UNKNOWN_VERDICT, about(Reason.UNKNOWN_VERDICT).meaning, Action.REJECT)
    # Only one of both signals says yes: neither is believed.
    if good or verdict == Verdict.VALID:
        detail = f"The answer contradicts itself: good is {str(good).lower()}, but the verdict says otherwise."
        return Rejected(answer, Reason.CONTRADICTORY_ANSWER, detail, Action.REJECT)
    return Rejected(answer, verdict, about(verdict).meaning, VERDICT_ACTIONS[verdict])


def word_for(outcome: Outcome) -> str:
    match outcome:
        case Accepted():
            return "accepted"
        case Rejected():
            return "rejected"
        case Failed():
            return "failed"
        case Ineligible():
            return "ineligible"
        case _:
            assert_never(outcome)
