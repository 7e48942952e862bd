"""What counts as an answer for a file of a delivery."""

from dataclasses import replace

import pytest

from proofsweep.domain.items import FileFacts, ManifestRow
from proofsweep.domain.reasons import Ineligible, Reason
from proofsweep.ingest.rules import PastAnswer, is_answer_in_batch

ANSWER = replace(
    PastAnswer(**dict.fromkeys(PastAnswer.__slots__)),  # type: ignore[arg-type]  # the others do not matter
    outcome="accepted",
    audio_version="v1",
)
ROW = ManifestRow(number=0, audio="/in/b/r/a.wav", audio_facts=FileFacts(8, "v1"), batch="/in/b", release="/in/b/r")
ABSENT = replace(ROW, audio_facts=None)


def refused(reason: Reason) -> ManifestRow:
    """Return the row as a look refuses it."""
    return replace(ROW, refused=Ineligible(reason, "It is so."))


@pytest.mark.parametrize(
    ("outcome", "reason", "row", "is_answer"),
    [
        ("accepted", None, ROW, True),
        ("accepted", None, replace(ROW, audio_facts=FileFacts(8, "v2")), False),
        ("rejected", "tampered", ROW, True),
        ("failed", "timeout", ROW, False),
        ("ineligible", "damaged_in_delivery", ROW, True),
        ("ineligible", "missing_sidecar", ROW, True),
        ("ineligible", "source_forbidden", ROW, False),
        ("ineligible", "missing_audio", ABSENT, True),
        ("ineligible", "missing_audio", ROW, False),
        ("accepted", None, ABSENT, False),
        ("ineligible", "not_in_message", refused(Reason.NOT_IN_MESSAGE), True),
        ("ineligible", "not_in_message", ROW, False),
        ("accepted", None, refused(Reason.WITHDRAWN), False),
        ("ineligible", "withdrawn", refused(Reason.WITHDRAWN), True),
        ("ineligible", "unreadable_file", refused(Reason.UNREADABLE_FILE), False),
    ],
)
def test_what_is_wrong_with_a_delivery_stands_until_it_changes(
    outcome: str, reason: str | None, row: ManifestRow, *, is_answer: bool
) -> None:
    """What the look sees must be what was answered; what only we can heal is no answer."""
    assert is_answer_in_batch(replace(ANSWER, outcome=outcome, reason=reason), row) is is_answer


def test_a_sidecar_that_arrives_later_needs_another_answer() -> None:
    """As for any other file."""
    assert not is_answer_in_batch(ANSWER, replace(ROW, sidecar="/in/b/r/a.sidecar", sidecar_facts=FileFacts(1, "s1")))
