"""What is no manifest is named, with what to do."""

import pytest

from proofsweep.catalog.other_files import is_list


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
