"""Rows that cannot be sent are recognised before any call."""

from dataclasses import replace

import pytest

from proofsweep.domain.exchanges import SLOT_BYTES
from proofsweep.domain.items import Declared, FileFacts, ManifestRow, Mode
from proofsweep.domain.reasons import Ineligible, Reason
from proofsweep.files.formats import AudioFormat
from proofsweep.sources.preflight import SIDECAR_BYTES, judge_content, work_item_of


def a_row(
    audio_bytes: int | None = 10,
    *,
    sidecar_bytes: int | None = None,
    paired: bool = False,
    refused: Ineligible | None = None,
) -> ManifestRow:
    """Make a row whose files have these sizes; None if there is no such file."""
    return ManifestRow(
        number=0,
        audio="/a.wav",
        sidecar="/a.sidecar" if paired else None,
        audio_facts=None if audio_bytes is None else FileFacts(audio_bytes, "v"),
        sidecar_facts=None if sidecar_bytes is None else FileFacts(sidecar_bytes, "v"),
        refused=refused,
    )


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (a_row(), None),
        (a_row(SLOT_BYTES), None),
        (a_row(SLOT_BYTES, paired=True, sidecar_bytes=SIDECAR_BYTES), None),
        (ManifestRow(number=0, audio=None), Reason.MISSING_AUDIO),
        (a_row(None), Reason.MISSING_AUDIO),
        (a_row(None, refused=Ineligible(Reason.OUTSIDE_CATALOG, "No.")), Reason.OUTSIDE_CATALOG),
        (a_row(0), Reason.EMPTY),
        (a_row(SLOT_BYTES + 1), Reason.TOO_LARGE),
        (replace(a_row(), declared=Declared(digests={"md5": "0" * 32})), None),  # that is compared when it is read
        (replace(a_row(), declared=Declared(size_bytes=0)), None),
        (replace(a_row(), declared=Declared(size_bytes=11)), Reason.DAMAGED_IN_DELIVERY),
        (a_row(paired=True), Reason.MISSING_SIDECAR),
        (a_row(paired=True, sidecar_bytes=0), Reason.MISSING_SIDECAR),
        (a_row(paired=True, sidecar_bytes=SIDECAR_BYTES + 1), Reason.SIDECAR_TOO_LARGE),
        (replace(a_row(SLOT_BYTES + 1), contested_sidecar="a.sidecar"), Reason.AMBIGUOUS_SIDECAR),
        (replace(a_row(None), contested_sidecar="a.sidecar"), Reason.MISSING_AUDIO),
    ],
)
def test_the_listing_shows_which_rows_cannot_be_sent(row: ManifestRow, expected: Reason | None) -> None:
    """Missing, empty, too large and damaged files are known without opening them; exactly 65 MiB fits."""
    ineligible = work_item_of(row, "m", "sidecar").ineligible

    assert (ineligible.reason if ineligible else None) == expected


def test_pairs_are_not_sent_until_the_sidecars_wire_name_is_known() -> None:
    """The service would verify the audio alone, and call it unreadable."""
    rows = (a_row(paired=True, sidecar_bytes=10), a_row(None, paired=True), a_row())
    judged = [work_item_of(row, "m", None).ineligible for row in rows]

    assert [each and each.reason for each in judged] == [Reason.SIDECAR_FIELD_UNKNOWN, Reason.MISSING_AUDIO, None]


UNLISTED = Reason.UNLISTED_FORMAT
FORMATS = (
    dict.fromkeys(("wav", "rf64", "bw64"), (None, None))
    | dict.fromkeys(("aiff", "caf", "mp3", "m4a"), (Reason.NOT_WAV, None))
    | dict.fromkeys(("flac", "ogg"), (UNLISTED, UNLISTED))
    | {"unknown": (UNLISTED, None)}
)


@pytest.mark.parametrize("audio_format", AudioFormat)
def test_each_mode_has_its_formats(audio_format: AudioFormat) -> None:
    """One-file delivery is WAV/BWF; a pair may have four more formats, or content of no known format."""
    judged = [judge_content(audio_format, mode) for mode in Mode]

    assert tuple(each and each.reason for each in judged) == FORMATS[audio_format]
    for refusal in filter(None, judged):
        assert ("known audio" if audio_format == "unknown" else audio_format.upper()) in refusal.detail
        assert "ask the supplier for" in refusal.detail
