"""Decide about the files of a watched folder: which are verified now, which wait, and where they go. Pure."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum

from proofsweep.domain.items import FileFacts, ManifestRow, Row
from proofsweep.domain.reasons import AtFault, Heals, Reason, about

# What the look at a folder knows of a delivery, without reading any audio.
_AT_LOOK = frozenset(
    {
        *(Reason.MISSING_AUDIO, Reason.NOT_IN_MESSAGE, Reason.UNREADABLE_MESSAGE),
        *(Reason.TEST_MESSAGE, Reason.WITHDRAWN),
    }
)
# The wait before a failed file is tried again; it doubles each time, up to the longest one.
_FIRST_RETRY = timedelta(minutes=5)
_LONGEST_RETRY = timedelta(days=1)
_ASK_AGAIN = timedelta(days=1)  # how long a rejection stands that may end without other bytes, as `unregistered` may


class Decision(StrEnum):
    TAKE = "take"
    ANSWERED = "answered"  # this version has its answer
    SETTLING = "settling"  # it may still be written
    INCOMPLETE = "incomplete"  # the sidecar or the end of the audio may still come
    INCOMPLETE_BATCH = "incomplete_batch"  # it is of a delivery of which files may still come
    RESTING = "resting"  # its last try failed, and the next one is not due
    GIVEN_UP = "given_up"  # this version failed too often
    LEFT_OUT = "left_out"  # it is ready, and does not meet the conditions of the command


class Disposition(StrEnum):
    LEFT = "left"
    ACCEPTED = "accepted"
    QUARANTINED = "quarantined"
    GONE = "gone"  # somebody else took it away, or put another file in its location


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestRules:
    """When a file is taken."""

    settle_seconds: float  # how long size and version must be unchanged
    pair_seconds: float  # how long a file waits for its sidecar, or for the end that its header promises
    tries: int  # how often one version is tried at most
    # how long a delivery waits for the files that it names, before it is taken with its findings.
    batch_wait_seconds: float = 21_600.0

    def retry_at(self, tries: int, now: datetime) -> datetime | None:
        """Return when a version that has failed so often comes back; None if it does not."""
        if tries >= self.tries:
            return None
        return now + min(_LONGEST_RETRY, _FIRST_RETRY * 2.0 ** min(tries - 1, 30))

    def stands(self, answer: "PastAnswer", now: datetime) -> bool:
        """Whether an answer still counts for its bytes."""
        if about(answer.reason).heals is not Heals.AT_SERVICE or answer.verified_at is None:
            return True
        return now - answer.verified_at < _ASK_AGAIN

    def given_up(self, sightings: Mapping[str, "Sighting"]) -> set[str]:
        return {item_id for item_id, sighting in sightings.items() if sighting.tries >= self.tries}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """What the passes so far know of one version of an item that has no answer."""

    version: str  # of the audio and the sidecar together
    since: datetime
    tries: int = 0
    retry_at: datetime | None = None  # when it is tried again; None if it has not failed, or is not tried again


@dataclass(frozen=True, slots=True, kw_only=True)
class PastAnswer:
    """The newest answer of an item in one environment, as its verdicts row has it."""

    run_id: str
    leg: int
    item_id: str
    outcome: str
    reason: str | None
    audio_bytes: int | None
    audio_version: str | None
    audio_sha256: str | None
    sidecar_version: str | None
    sidecar_sha256: str | None
    verified_at: datetime | None = None


@dataclass(slots=True, kw_only=True)
class KnownBatches:
    """What the passes so far know of the deliveries that lie in a watched folder."""

    # when a pass first saw each, by the location of its folder.
    since: dict[str, datetime] = field(default_factory=dict)
    folders: set[str] = field(default_factory=set)  # in which batches with a completion file lay
    senders: set[str] = field(default_factory=set)


@dataclass(slots=True)
class PassReport:
    decisions: Counter[Decision] = field(default_factory=Counter)  # listed files by what was done with them
    rows: list[Row] = field(default_factory=list)
    # rows of files that should have been moved; those of earlier passes are not written again.
    not_moved: list[Row] = field(default_factory=list)
    # files that later passes take, and sidecars without audio: `file`, `why`, `due_at` and `detail`.
    waiting: list[Row] = field(default_factory=list)
    given_up: set[str] = field(default_factory=set)  # items that are not tried again
    run_ids: list[str] = field(default_factory=list)  # the runs that it gave to be verified
    # why deliveries that have waited long enough are not complete, by the location of their folders.
    incomplete: dict[str, str] = field(default_factory=dict)
    # entries of the folder that are no files to verify, by the cause.
    ignored: Mapping[str, int] = field(default_factory=dict)
    is_whole: bool = True  # False if rows of a run remain, and the pass ended there


def sighted(before: Sighting | None, row: ManifestRow, now: datetime) -> Sighting:
    """Return what is known of a file after it was listed once more; a new version begins anew."""
    version = version_of(row)
    if before is None or before.version != version:
        return Sighting(version=version, since=now)
    return replace(before, since=min(before.since, now))  # a clock that was put back must not make it wait for ever


def decide(
    sighting: Sighting, answer: PastAnswer | None, row: ManifestRow, now: datetime, rules: IngestRules
) -> Decision:
    """Return what a pass does with a listed file; a file to TAKE must still be looked into, by `is_patient`.

    Whether a file of a delivery has its answer is `is_answer_in_batch`'s to say.
    """
    is_answer = is_answer_for if row.batch is None else is_answer_in_batch
    if answer is not None and is_answer(answer, row):
        return Decision.ANSWERED
    if now - sighting.since < timedelta(seconds=rules.settle_seconds):
        return Decision.SETTLING
    if sighting.tries >= rules.tries:
        return Decision.GIVEN_UP
    if sighting.retry_at is not None and now < sighting.retry_at:
        return Decision.RESTING
    return Decision.TAKE


def due_at(decision: Decision, sighting: Sighting, rules: IngestRules) -> datetime | None:
    """Return when a waiting file is taken if it stays as it is; None if that depends on others."""
    waits = {Decision.SETTLING: rules.settle_seconds, Decision.INCOMPLETE: rules.pair_seconds}
    return sighting.since + timedelta(seconds=waits[decision]) if decision in waits else sighting.retry_at


def is_patient(sighting: Sighting, now: datetime, rules: IngestRules) -> bool:
    """Return whether a file that is not complete is still waited for."""
    return now - sighting.since < timedelta(seconds=rules.pair_seconds)


def is_answer_for(answer: PastAnswer, row: ManifestRow) -> bool:
    """Return whether an answer is final and was given for the listed version of audio and sidecar."""
    if not is_final(answer.outcome, answer.reason) or answer.audio_version != row.audio_version:
        return False
    return answer.sidecar_version == row.sidecar_version


def is_answer_in_batch(answer: PastAnswer, row: ManifestRow) -> bool:
    """Return the same of a file of a delivery: what is wrong with the delivery stands until its messages change."""
    known = reason_at_look(row)
    if known is not None:
        return is_finding(answer.outcome, answer.reason) and answer.reason == known
    if answer.reason in _AT_LOOK or answer.audio_version != row.audio_version:
        return False
    is_known = is_final(answer.outcome, answer.reason) or is_finding(answer.outcome, answer.reason)
    return is_known and answer.sidecar_version == row.sidecar_version


def reason_at_look(row: ManifestRow) -> str | None:
    """Return why a row cannot be sent, as far as the look at its folder says."""
    if row.refused is not None:
        return row.refused.reason
    return Reason.MISSING_AUDIO if row.audio_facts is None else None


def answered_as(answer: PastAnswer, row: ManifestRow) -> PastAnswer:
    """Return an answer to a listed file that has the same bytes."""
    return replace(answer, audio_version=row.audio_version, sidecar_version=row.sidecar_version)


def may_be_same_bytes(answer: PastAnswer, row: ManifestRow) -> bool:
    """Return whether a listed file may be one that was answered, and was then touched or written again."""
    has_digests = answer.audio_sha256 is not None and (answer.sidecar_sha256 is None) == (row.sidecar is None)
    size_bytes = row.audio_facts.size_bytes if isinstance(row.audio_facts, FileFacts) else None
    return has_digests and is_final(answer.outcome, answer.reason) and answer.audio_bytes == size_bytes


def is_final(outcome: str, reason: str | None) -> bool:
    """Return whether an outcome stands until the file changes."""
    return outcome in {"accepted", "rejected"} or (outcome == "ineligible" and about(reason).heals is not Heals.HERE)


def is_finding(outcome: str, reason: str | None) -> bool:
    """Return whether an outcome says what is wrong with a delivery, so that only its sender can heal it."""
    at_fault = about(reason).at_fault
    return outcome == "ineligible" and (at_fault is AtFault.FILE or reason == Reason.MISSING_AUDIO)


def is_not_moved(row: Row) -> bool:
    return row["disposition"] == Disposition.LEFT and row["detail"] is not None


def version_of(row: ManifestRow) -> str:
    return text_of_versions(row.audio_version, row.sidecar_version)


def text_of_versions(audio: str | None, sidecar: str | None) -> str:
    return f"{audio}|{sidecar}"


def supplier_of(named_audio: str) -> str | None:
    folder, is_below, _ = named_audio.partition("/")
    return folder if is_below and folder else None
