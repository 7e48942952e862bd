"""Decide about the files of a watched folder: which are verified now, which wait, and where they go. Pure."""

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from proofsweep.config.sections import IngestSettings
from proofsweep.domain.items import FileFacts, ManifestRow, utf8_text
from proofsweep.domain.reasons import AtFault, Heals, Reason, about

# What a scan of a folder knows of a delivery, without reading any audio.
_FROM_SCAN = {
    *(Reason.MISSING_AUDIO, Reason.NOT_IN_MESSAGE, Reason.UNREADABLE_MESSAGE, Reason.CLOSED_MESSAGE),
    *(Reason.TEST_MESSAGE, Reason.WITHDRAWN, Reason.CLIP),
}
VERDICTS = {"accepted", "rejected"}
_FIRST_RETRY, _LONGEST_RETRY = timedelta(minutes=5), timedelta(days=1)  # the wait doubles with each failure
_ASK_AGAIN = timedelta(days=1)  # how long a rejection stands that may end without other bytes, as `unregistered` may


class Decision(StrEnum):
    TAKE = "take"
    ANSWERED = "answered"  # this version has its answer
    SETTLING = "settling"  # it may still be written
    INCOMPLETE = "incomplete"  # the sidecar or the end of the audio may still come
    INCOMPLETE_BATCH = "incomplete_batch"  # it is of a delivery of which files may still come
    RESTING = "resting"  # its last try failed, and the next one is not due


class Disposition(StrEnum):
    LEFT = "left"
    ACCEPTED = "accepted"
    QUARANTINED = "quarantined"
    GONE = "gone"  # somebody else took it away, or put another file in its location


@dataclass(frozen=True, slots=True, kw_only=True)
class PastAnswer:
    """The newest answer of an item in one environment, as its verdicts row has it."""

    run_id: str
    leg: int
    item_id: str
    audio: str | None = None  # where it was then
    outcome: str
    reason: str | None
    audio_bytes: int | None
    audio_version: str | None
    audio_sha256: str | None
    sidecar_version: str | None
    sidecar_sha256: str | None
    finished_at: datetime | None = None

    def is_recent_enough(self, sighting: "Sighting", now: datetime) -> bool:
        if about(self.reason).heals is not Heals.AT_SERVICE:
            return True
        # The clock of the service, by which it was given, may differ from ours by a day.
        if sighting.retry_at is not None:
            return now < sighting.retry_at
        return self.finished_at is None or abs(now - self.finished_at) < _ASK_AGAIN


ANSWER_COLUMNS = [column.name for column in fields(PastAnswer)]


def answer_of(row: Mapping[str, Any]) -> PastAnswer:
    return PastAnswer(**{name: row[name] for name in ANSWER_COLUMNS})


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """What the passes so far know of one version of a file at its place."""

    version: str  # of the audio and the sidecar together
    since: datetime
    tries: int = 0
    retry_at: datetime | None = None  # when it is tried again after a failure, or after a rejection that may end
    # That it is ineligible, if that stands; or a verdict, of an item of which another file may have a newer one.
    answer: PastAnswer | None = None
    judged_by: str = ""  # the versions of messages and lists that say how it must be
    is_judged_anew: bool = False  # whether these have changed since its verdict


def retry_at(tries: int, now: datetime) -> datetime:
    """Return when a version that has failed so often comes back."""
    doublings = min(tries - 1, 30)  # a greater power is more than any number of days
    return now + min(_LONGEST_RETRY, _FIRST_RETRY * 2.0**doublings)


def asked_again_at(reason: str | None, acted_at: datetime) -> datetime | None:
    """Return when a version is verified again whose verdict was acted on; None if that stands."""
    return acted_at + _ASK_AGAIN if about(reason).heals is Heals.AT_SERVICE else None


def sighted(before: Sighting | None, row: ManifestRow, now: datetime) -> Sighting:
    """Return what is known of a file after it was listed once more.

    A new version begins anew, and so does a file whose message or list is another one by now.
    """
    version = version_of(row)
    if before is None or before.version != version:
        return Sighting(version=version, since=now, judged_by=row.judged_by)
    if before.judged_by != row.judged_by:
        return Sighting(version=version, since=now, judged_by=row.judged_by, is_judged_anew=True)
    # A clock that was put back must not make it wait for ever.
    next_try = before.retry_at
    if next_try is not None:
        next_try = min(next_try, now + _LONGEST_RETRY)
    return replace(before, since=min(before.since, now), retry_at=next_try)


def decide(
    sighting: Sighting, answer: PastAnswer | None, row: ManifestRow, now: datetime, settings: IngestSettings
) -> Decision:
    """Return what a pass does with a listed file; one to TAKE may still turn out to be incomplete."""
    if answer is not None and is_answer(answer, row) and not sighting.is_judged_anew:
        return Decision.ANSWERED
    if now - sighting.since < timedelta(seconds=settings.settle_seconds):
        return Decision.SETTLING
    if sighting.tries and sighting.retry_at is not None and now < sighting.retry_at:
        return Decision.RESTING
    return Decision.TAKE


def is_answer(answer: PastAnswer, row: ManifestRow) -> bool:
    """Whether an answer stands, and was given for the listed version of audio and sidecar.

    What is wrong with a delivery stands until its messages change.
    """
    is_delivered = row.batch is not None
    reason_now = reason_of_scan(row)
    if is_delivered and reason_now is not None:
        return is_finding(answer.outcome, answer.reason) and answer.reason == reason_now
    # By an earlier scan something was wrong, and by this one it is not.
    if answer.reason in _FROM_SCAN:
        return False
    # Of an item that was delivered twice, each file needs a row for its own bytes.
    if is_delivered and answer.audio != place_of(row):
        return False
    if answer.audio_version != row.audio_version or answer.sidecar_version != row.sidecar_version:
        return False
    return stands(answer.outcome, answer.reason, is_delivered=is_delivered)


def reason_of_scan(row: ManifestRow) -> str | None:
    """Return why a row cannot be sent, as far as the scan of its folder says."""
    if row.refused is not None:
        return row.refused.reason
    return Reason.MISSING_AUDIO if row.audio_facts is None else None


def may_be_same_bytes(answer: PastAnswer | None, row: ManifestRow) -> bool:
    """Whether a listed file may be one that has a verdict, and was then touched or delivered again."""
    if answer is None or answer.outcome not in VERDICTS or not isinstance(row.audio_facts, FileFacts):
        return False
    is_same_mode = (answer.sidecar_sha256 is None) == (row.sidecar is None)
    return is_same_mode and answer.audio_bytes == row.audio_facts.size_bytes


def stands(outcome: str, reason: str | None, *, is_delivered: bool) -> bool:
    """Whether an outcome stands until the file changes; what is wrong with a delivery, until its sender heals it."""
    if outcome in VERDICTS or (is_delivered and is_finding(outcome, reason)):
        return True
    return outcome == "ineligible" and about(reason).heals is not Heals.HERE


def is_finding(outcome: str, reason: str | None) -> bool:
    """Whether an outcome says what is wrong with a delivery, so that only its sender can heal it."""
    if outcome != "ineligible":
        return False
    return about(reason).at_fault is AtFault.FILE or reason == Reason.MISSING_AUDIO


def place_of(row: ManifestRow) -> str:
    """Return what stands for a file's location in tables and in what passes remember."""
    return utf8_text(row.audio or "")


def own_lists(audio: str, judged_by: str) -> list[str]:
    """Return the lists of checksums beside a file that speak of it alone, such as `song.wav.md5`."""
    folder, name = posixpath.split(audio)
    lists: list[str] = []
    for version in judged_by.split(","):
        list_name, _, _ = version.rpartition(" ")
        stem, _ = posixpath.splitext(list_name)
        if stem == name:
            lists.append(posixpath.join(folder, list_name))
    return lists


def version_of(row: ManifestRow) -> str:
    return text_of_versions(row.audio_version, row.sidecar_version)


def text_of_versions(audio: str | None, sidecar: str | None) -> str:
    return f"{audio}|{sidecar}"


def supplier_of(named_audio: str) -> str | None:
    folder, is_below, _ = named_audio.partition("/")
    return folder if is_below and folder else None
