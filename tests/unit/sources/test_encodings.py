"""How a manifest is encoded is seen by its bytes, and nothing is guessed where UTF-8 is possible."""

import io

import pytest

from proofsweep.sources import readers
from proofsweep.sources.readers import Encoding, encoding_of

GERMAN = "audio;Künstler\nD:\\Musik\\Grüße.wav;Björk «Jóga» €\n"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "UTF-8"),
        (b"audio\na.wav\n", "UTF-8"),
        (GERMAN.encode(), "UTF-8"),
        (GERMAN.encode("utf-8-sig"), "UTF-8"),
        (GERMAN.encode("cp1252"), "Windows-1252"),
        (GERMAN.encode("utf-16"), "UTF-16"),
        (GERMAN.encode("utf-16-le"), "UTF-16-LE"),
        (GERMAN.encode("utf-16-be"), "UTF-16-BE"),
        (b"audio\n" + b"a" * 3_000_000 + b"\xe4.wav\n", "Windows-1252"),
        (b"audio\nk\xc3\xa4se.wav\ncaf\xe9.wav\n", "UTF-8 with bytes that are not"),
        ("audio\nGrün.wav\n".encode("cp850"), "UTF-8 with bytes that are not"),
        ("audio\nGrün.wav\nmärz.wav\n".encode("mac_roman"), "UTF-8 with bytes that are not"),
        (b"audio\n" + b"\x93\x94\x96.wav\n", "UTF-8 with bytes that are not"),
    ],
)
def test_an_encoding_is_recognised(content: bytes, words: str) -> None:
    """The whole file decides; it stands at its start afterwards."""
    file = io.BytesIO(content)

    found = encoding_of(file)

    assert (found.words, file.tell()) == (words, 0)
    assert found.is_guess == (words == "Windows-1252")


def test_a_letter_may_be_cut_where_the_file_is_read_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also between a piece without letters and one with them, and at the end of the file."""
    for size in (1, 2, 3, 5):
        monkeypatch.setattr(readers, "_PIECE_BYTES", size)

        assert encoding_of(io.BytesIO("abcdefä€😀x".encode())) == Encoding("utf-8")
        assert encoding_of(io.BytesIO(b"abcdefgh\xc3")).words == "Windows-1252"
