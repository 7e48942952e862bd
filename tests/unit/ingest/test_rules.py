"""Deciding about delivered files: when one is taken, when it comes back, and where it goes."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from proofsweep.config.sections import IngestSettings
from proofsweep.domain.items import FileFacts, ManifestRow
from proofsweep.domain.reasons import Ineligible, Reason
from proofsweep.ingest.rules import (
    Decision,
    PastAnswer,
    Sighting,
    decide,
    is_answer,
    may_be_same_bytes,
    retry_at,
    sighted,
    supplier_of,
)

from .conftest import ANSWER

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
SETTINGS = IngestSettings(settle_seconds=10)
ROW = ManifestRow(
    number=0,
    audio="/in/acme/a.wav",
    sidecar="/in/acme/a.wav.sidecar",
    audio_facts=FileFacts(100, "v1"),
    sidecar_facts=FileFacts(10, "s1"),
)


def seen(seconds: float, tries: int = 0, retry_in: float | None = None) -> Sighting:
    """Return what is known of the row's version, first seen so long ago."""
    retry_at = None if retry_in is None else NOW + timedelta(seconds=retry_in)
    return Sighting(version="v1|s1", since=NOW - timedelta(seconds=seconds), tries=tries, retry_at=retry_at)


@pytest.mark.parametrize(
    ("sighting", "answer", "decision"),
    [
        (seen(9.9), None, Decision.SETTLING),
        (seen(10), None, Decision.TAKE),
        (seen(10), ANSWER, Decision.ANSWERED),
        (seen(10), replace(ANSWER, outcome="rejected", reason="tampered"), Decision.ANSWERED),
        (seen(10), replace(ANSWER, outcome="failed", reason="timeout"), Decision.TAKE),
        (seen(10), replace(ANSWER, audio_version="v0"), Decision.TAKE),
        (seen(10), replace(ANSWER, sidecar_version="s0"), Decision.TAKE),
        (seen(999, tries=1, retry_in=1), None, Decision.RESTING),
        (seen(999, tries=1, retry_in=0), None, Decision.TAKE),
    ],
)
def test_a_file_is_taken_when_it_is_settled_and_has_no_answer(
    sighting: Sighting, answer: PastAnswer | None, decision: Decision
) -> None:
    """Each case waits for one thing; an answer counts for its versions alone."""
    assert decide(sighting, answer, ROW, NOW, SETTINGS) is decision


def test_a_clock_that_was_put_back_does_not_make_a_file_wait_for_ever() -> None:
    """A sighting from the future counts from now, and a retry comes after the longest wait; an answer is old."""
    assert sighted(seen(-3600), ROW, NOW).since == NOW
    assert sighted(seen(0, tries=1, retry_in=10**8), ROW, NOW).retry_at == NOW + timedelta(days=1)
    ahead = replace(ANSWER, outcome="rejected", reason="local_seal", finished_at=NOW + timedelta(days=900))
    assert not ahead.is_recent_enough(seen(0), NOW)
    assert replace(ahead, finished_at=NOW + timedelta(hours=1)).is_recent_enough(seen(0), NOW)
    assert ahead.is_recent_enough(seen(0, retry_in=60), NOW)


@pytest.mark.parametrize(("tries", "seconds"), [(1, 300), (2, 600), (99, 86_400)])
def test_tries_come_back_after_longer_and_longer_waits(tries: int, seconds: int) -> None:
    assert retry_at(tries, NOW) == NOW + timedelta(seconds=seconds)


def test_an_answer_without_a_sidecar_is_none_for_a_pair() -> None:
    """Audio that was verified alone is verified again with its sidecar."""
    alone = replace(ANSWER, sidecar_version=None, sidecar_sha256=None)

    assert is_answer(alone, replace(ROW, sidecar=None, sidecar_facts=None))
    assert not is_answer(alone, ROW)
    assert not may_be_same_bytes(alone, ROW)
    assert may_be_same_bytes(ANSWER, ROW)
    assert not may_be_same_bytes(replace(ANSWER, audio_bytes=99), ROW)


@pytest.mark.parametrize(
    ("named", "supplier"), [("acme/a.wav", "acme"), ("acme/2026/a.wav", "acme"), ("a.wav", None), ("/x/a.wav", None)]
)
def test_the_supplier_is_the_first_folder(named: str, supplier: str | None) -> None:
    """A file that lies in the watched folder itself, or outside of it, has no supplier."""
    assert supplier_of(named) == supplier


OF_BATCH = replace(ANSWER, audio="/in/b/r/a.wav", sidecar_version=None, sidecar_sha256=None)
IN_BATCH = ManifestRow(
    number=0, audio="/in/b/r/a.wav", audio_facts=FileFacts(8, "v1"), batch="/in/b", release="/in/b/r"
)
ABSENT = replace(IN_BATCH, audio_facts=None)


def refused(reason: Reason) -> ManifestRow:
    return replace(IN_BATCH, refused=Ineligible(reason, "It is so."))


@pytest.mark.parametrize(
    ("outcome", "reason", "row", "expected"),
    [
        ("accepted", None, IN_BATCH, True),
        ("accepted", None, replace(IN_BATCH, audio_facts=FileFacts(8, "v2")), False),
        ("accepted", None, replace(IN_BATCH, audio="/in/b2/r/a.wav"), False),
        ("rejected", "tampered", IN_BATCH, True),
        ("failed", "timeout", IN_BATCH, False),
        ("ineligible", "damaged_in_delivery", IN_BATCH, True),
        ("ineligible", "missing_sidecar", IN_BATCH, True),
        ("ineligible", "source_forbidden", IN_BATCH, False),
        ("ineligible", "missing_audio", ABSENT, True),
        ("ineligible", "missing_audio", IN_BATCH, False),
        ("accepted", None, ABSENT, False),
        ("ineligible", "not_in_message", refused(Reason.NOT_IN_MESSAGE), True),
        ("ineligible", "not_in_message", IN_BATCH, False),
        ("accepted", None, refused(Reason.WITHDRAWN), False),
        ("ineligible", "withdrawn", refused(Reason.WITHDRAWN), True),
        ("ineligible", "unreadable_file", refused(Reason.UNREADABLE_FILE), False),
    ],
)
def test_what_is_wrong_with_a_delivery_stands_until_it_changes(
    outcome: str, reason: str | None, row: ManifestRow, *, expected: bool
) -> None:
    """What the scan sees must be what was answered; what only we can heal is no answer."""
    assert is_answer(replace(OF_BATCH, outcome=outcome, reason=reason), row) is expected


def test_a_file_is_judged_anew_when_its_message_or_list_is_another_one() -> None:
    """Also if its bytes have a verdict: they are compared, and not sent again."""
    row = replace(IN_BATCH, judged_by="r.xml v1")
    seen = sighted(None, row, NOW)
    same = sighted(seen, row, NOW + timedelta(seconds=60))
    other = sighted(same, replace(row, judged_by="r.xml v2"), NOW + timedelta(seconds=60))

    later = NOW + timedelta(seconds=120)
    assert (same.since, other.since) == (NOW, NOW + timedelta(seconds=60))
    assert decide(same, OF_BATCH, row, later, SETTINGS) is Decision.ANSWERED
    assert decide(other, OF_BATCH, replace(row, judged_by="r.xml v2"), later, SETTINGS) is Decision.TAKE
