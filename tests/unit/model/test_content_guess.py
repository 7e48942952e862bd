"""Content that is not a known audio format is described, so that a person knows what to ask for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofsweep.model.content_guess import UNKNOWN_CONTENT, ContentGuess, guess_content

AC3_FRAME = b"\x0b\x77\x00\x00\x14\x40" + bytes(762)
"""192 kbit/s at 48 kHz: 768 bytes."""
EAC3_FRAME = b"\x0b\x77\x01\x7f\x34\x86" + bytes(762)
WAVE = b"RIFF\x24\x00\x00\x00WAVEfmt "


@pytest.mark.parametrize(
    ("front", "words"),
    [
        (b"%PDF-1.7", "a PDF document"),
        (b"\x89PNG\r\n\x1a\n", "a PNG picture"),
        (b"RIFF\x24\x00\x00\x00AVI LIST", "a RIFF or IFF file without known audio"),
        (b"\x00\x00\x00\x20ftypheic", "a HEIF or AVIF picture"),
        (b" <!DOCTYPE html><html>", "an HTML page"),
        (b"audio,sidecar\n", "text"),
        ("Größe".encode()[:-2], "text"),  # cut off within a character
        ("\ufeffaudio".encode("utf-16-le"), "text"),
        (b"MAC addresses of the studio\n", "text"),
        (b"DSD masters of 2026\n", "text"),
    ],
)
def test_content_of_another_kind_is_certain(front: bytes, words: str) -> None:
    """A pair with such content is refused before any call."""
    assert guess_content(front) == ContentGuess(words, is_other=True)


@pytest.mark.parametrize(
    ("front", "words"),
    [
        (b"wvpk\x80\x01\x00\x00\x10\x04", "WavPack"),
        (b"DSD \x1c\x00\x00\x00\x00\x00\x00\x00", "DSF"),
        (b"FRM8\x00\x00\x00\x00\x00\x01\x00\x00DSD FVER", "DSDIFF"),
        (b"MPCKSH\x0f\x01\x02", "Musepack"),
        (b"MP+\x07\x5a\x01\x00\x00", "Musepack"),
        (b"TTA1\x01\x00\x02\x00\x10\x00", "True Audio (TTA)"),
        (b"MAC \x96\x0f\x00\x00\x34\x00", "Monkey's Audio"),
        (b"\x1aE\xdf\xa3\x9fB\x86\x81\x01", "Matroska or WebM"),
        (AC3_FRAME, "AC-3"),
        (AC3_FRAME * 2, "AC-3"),
        (EAC3_FRAME * 2, "AC-3"),
        (b"\xff\xf1\x50\x80", "AAC without a container"),
        (b"\xff\xfd\x84\x04", "MPEG audio of layer I or II"),
    ],
)
def test_audio_that_the_contract_does_not_list_is_told_from_other_files(front: bytes, words: str) -> None:
    """A file of it in a folder is a row with a reason; a file of another kind is no row."""
    assert guess_content(front) == ContentGuess(words, is_other=True, is_audio=True)


@pytest.mark.parametrize(
    "front",
    [
        AC3_FRAME[:5],
        AC3_FRAME + b"no second frame",
        b"\x0b\x77\x00\x00\xc0\x40" + bytes(2000),  # a reserved sample rate
        b"\x0b\x77\x00\x00\x26\x40" + bytes(2000),  # a reserved frame size
        b"\x0b\x77\x00\x00\x14\xf8" + bytes(2000),  # a version that does not exist
    ],
)
def test_two_bytes_that_ac3_begins_with_are_not_enough(front: bytes) -> None:
    """Any file may hold them by chance: the frame must make sense, and another one must follow it."""
    assert guess_content(front) == UNKNOWN_CONTENT


@pytest.mark.parametrize(
    ("front", "words"),
    [
        (b"RIFF\x24\x00", "the first bytes of a WAV or AIFF, cut off within its header"),
        (b"\x07\x07" + WAVE, "a WAV after 2 bytes that do not belong to it"),
        (bytes(100), "zero bytes where the audio should begin"),
        (b"\x07\x01\x02", UNKNOWN_CONTENT.words),
        (b"", UNKNOWN_CONTENT.words),
    ],
)
def test_content_that_may_be_audio_is_left_to_the_service(front: bytes, words: str) -> None:
    """The sidecar of a pair may have been made for these exact bytes."""
    assert guess_content(front) == ContentGuess(words, is_other=False)


@given(st.binary(max_size=200))
def test_any_bytes_have_a_guess(front: bytes) -> None:
    """A description is one line without control characters."""
    assert guess_content(front).words.isprintable()
