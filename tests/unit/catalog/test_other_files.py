"""What is no manifest is named, with what to do."""

import pytest

from proofsweep.catalog.other_files import is_list, words_for


@pytest.mark.parametrize(
    ("start", "name", "words"),
    [
        (b"PK\x03\x04xx", "a.zip", "a ZIP archive or an Excel workbook: unpack it"),
        (b"PK\x03\x04xx", "a.ods", "a table of LibreOffice: save it as .xlsx or CSV"),
        (b"\xd0\xcf\x11\xe0\xa1", "a.xls", "save it as .xlsx or CSV, without one"),
        (b'{"a":', "a.json", "let its name end in .jsonl"),
    ],
)
def test_a_file_is_known_by_its_bytes_or_its_name(start: bytes, name: str, words: str) -> None:
    """The ending says more where formats share their first bytes."""
    assert words in (words_for(start, name) or "")


def test_of_text_nothing_is_said() -> None:
    """It may be a manifest."""
    assert words_for(b"audio,", "a.doc") is None


@pytest.mark.parametrize(
    ("start", "name", "may_be"),
    [
        (b"audio\tid\r\na.wav\t1", "a.txt", True),
        ("\ufeffaudio;id".encode("utf-16-le"), "a.TXT", True),
        (b"\nPath\na.wav", "a.txt", True),
        (b"Dear all,\n", "a.txt", True),
        (b"hello\na,b", "a.txt", False),
        (b"hello", "a.csv", True),
    ],
)
def test_a_list_in_a_text_has_columns(start: bytes, name: str, may_be: bool) -> None:
    """Notes beside a delivery are no list; a name that promises one is believed."""
    assert is_list(start, name) is may_be
