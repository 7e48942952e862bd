"""A checksum list is read as a stream, in any encoding, with bounds."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from proofsweep.domain.errors import CatalogError
from proofsweep.domain.items import FileFacts
from proofsweep.sources import checksums
from proofsweep.sources.checksums import lines_of_list
from proofsweep.sources.files import Files
from proofsweep.sources.local import LocalFile


def read(path: Path, content: bytes) -> list[str]:
    """Write a list and read it to its end."""
    path.write_bytes(content)
    return list(lines_of_list(str(path), Files()))


@pytest.mark.parametrize(
    "content",
    [
        "aä\nb\n".encode(),
        "aä\r\nb\r\n".encode(),
        "\ufeffaä\nb".encode(),
        "aä\r\nb\r\n".encode("utf-16"),
        "aä\nb\n".encode("cp1252"),
    ],
)
def test_a_list_is_read_in_its_encoding(tmp_path: Path, content: bytes) -> None:
    """PowerShell writes UTF-16; a byte order mark and the line ends of Windows belong to no line."""
    assert read(tmp_path / "MD5SUMS", content) == ["aä", "b"]


def test_names_that_are_no_text_stay_their_bytes(tmp_path: Path) -> None:
    """As names of files have them."""
    assert read(tmp_path / "MD5SUMS", b"\x81\x8d\n") == ["\udc81\udc8d"]


@pytest.mark.parametrize(
    ("bound", "most", "words"),
    [("MOST_BYTES", 5, "5 bytes"), ("MOST_LINES", 2, "2 lines"), ("MOST_LINE_LETTERS", 3, "3 letters in line 3")],
)
def test_a_list_beyond_a_bound_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bound: str, most: int, words: str
) -> None:
    """Whoever wrote it cannot make us read for hours."""
    monkeypatch.setattr(checksums, bound, most)

    with pytest.raises(CatalogError) as raised:
        read(tmp_path / "MD5SUMS", b"a\nb\ncdefg\n")

    assert raised.value.message.endswith(f"It has more than {words}.")


def test_a_list_that_changes_meanwhile_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half a list would be believed otherwise."""
    facts: Iterator[FileFacts] = iter([FileFacts(4, str(number)) for number in range(9)])
    monkeypatch.setattr(LocalFile, "facts", lambda _self: next(facts))

    with pytest.raises(CatalogError) as raised:
        read(tmp_path / "MD5SUMS", b"a\nb\n")

    assert "It changed while it was read" in raised.value.message
