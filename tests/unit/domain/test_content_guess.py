"""Content that is not a known audio format is described, so that a person knows what to ask for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofsweep.domain.content_guess import UNKNOWN_CONTENT, ContentGuess, guess_content

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
        (b"\xff\xf1\x50\x80", "AAC without a container"),
        (b"\xff\xfd\x84\x04", "MPEG audio of layer I or II"),
    ],
)
def test_content_of_another_kind_is_certain(front: bytes, words: str) -> None:
    """A pair with such content is refused before any call."""
    assert guess_content(front) == ContentGuess(words, is_other=True)


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
