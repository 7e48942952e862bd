"""Checksum lists are read as tools write them, in any encoding, with bounds."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from proofsweep.domain.errors import CatalogError
from proofsweep.domain.items import ALGORITHMS, FileFacts
from proofsweep.sources import checksums
from proofsweep.sources.checksums import ChecksumLine, algorithm_of_list, is_list_name, line_of, lines_of_list
from proofsweep.sources.files import Files
from proofsweep.sources.local import LocalFile

MD5 = "9e107d9d372bb6826bd81d3542a419d6"
SHA256 = "d7a8fbb307d7809469ca9abcb0082e4f8d5651e46d3cdb762d02d0bf37c9e592"


@pytest.mark.parametrize(
    ("line", "path"),
    [
        (f"{MD5}  a.wav", "a.wav"),
        (f"{MD5} *a.wav", "a.wav"),
        (f"{MD5.upper()} *disc 1/a.wav", "disc 1/a.wav"),
        (f"{MD5}\ta.wav", "a.wav"),
        (f"{MD5} a.wav", "a.wav"),
        (f"{MD5}   begins with a space.wav", " begins with a space.wav"),
        (f"{MD5}  *star.wav", "*star.wav"),
        (rf"\{MD5}  a\\b\nc\rd.wav", "a\\b\nc\rd.wav"),
        (rf"{MD5}  a\b.wav", r"a\b.wav"),
        (f"{MD5}  (x) = y.wav", "(x) = y.wav"),
        (f"MD5 (a.wav) = {MD5}", "a.wav"),
        (f"MD5(a.wav)= {MD5}", "a.wav"),
        (f"MD5 (a (live).wav) = {MD5}", "a (live).wav"),
        (f"MD5 (a) = b.wav) = {MD5}", "a) = b.wav"),
        (rf"\MD5 (a\nb.wav) = {MD5}", "a\nb.wav"),
        ("MD5 (a.wav) = nhB9nTcrtoJr2B01QqQZ1g==", "a.wav"),
        (MD5, ""),
        (f"{MD5} ", ""),
    ],
)
@pytest.mark.parametrize("usual", ["md5", None])
def test_a_line_is_read_as_its_tool_wrote_it(line: str, path: str, usual: str | None) -> None:
    """Of md5sum, shasum, BSD, OpenSSL, and tools that write a tab; a name may hold nearly anything."""
    assert line_of(line, usual) == ChecksumLine("md5", MD5, path)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_length_says_the_algorithm_where_nothing_else_does(algorithm: str) -> None:
    """Each has a length of its own."""
    digest = hashlib.new(algorithm, b"").hexdigest()

    assert line_of(f"{digest}  a.wav", None) == ChecksumLine(algorithm, digest, "a.wav")


@pytest.mark.parametrize("name", ["SHA256", "SHA2-256", "sha-256", "SHA2"])
def test_a_tagged_line_says_its_own_algorithm(name: str) -> None:
    """Whatever the list's name says."""
    assert line_of(f"{name} (a.wav) = {SHA256}", "md5") == ChecksumLine("sha256", SHA256, "a.wav")


@pytest.mark.parametrize(
    "line",
    [
        f"{SHA256}  a.wav",  # no MD5
        f"{MD5[:-1]}  a.wav",
        f"{MD5[:-1]}g  a.wav",
        "a.wav 1234ABCD",
        "d41d8cd9  a.wav",
        f"BLAKE2b-128 (a.wav) = {MD5}",
        f"SHA512/256 (a.wav) = {SHA256}",
        f"MD5 () = {MD5}",
        "MD5 (a.wav) = ",
        f"MD5 (a.wav) = {MD5} {MD5}",
        "<html>",
        "%%%% HASHDEEP-1.0",
        "",
        "\\",
        "MD5 (" + ") = " * 4_000 + "x y",
        "0" * 8_448,
    ],
)
def test_a_line_that_cannot_be_compared_is_none(line: str) -> None:
    """It is a finding of its list, and never damage of a file; the longest line takes no time."""
    assert line_of(line, "md5") is None
    assert line_of(f"{hashlib.sha512().hexdigest()}  a.wav", "") is None


@pytest.mark.parametrize(
    ("name", "algorithm"),
    [
        ("MD5SUMS", "md5"),
        ("md5sum.txt", "md5"),
        ("SHA256SUMS", "sha256"),
        ("SHA256SUMS.txt", "sha256"),
        ("sha-512-sums", None),
        ("sha512_sums", "sha512"),
        ("checksums.md5", "md5"),
        ("album.SHA1", "sha1"),
        ("song.wav.sha256", "sha256"),
        ("checksum.txt", None),
        ("CHECKSUMS", None),
        ("B2SUMS", ""),  # a digest of BLAKE2 has the length of one of SHA-512
        ("manifest-sha512.txt", "sha512"),
    ],
)
def test_the_name_of_a_list_says_its_algorithm(name: str, algorithm: str | None) -> None:
    """If it says one."""
    assert is_list_name(name) or name in {"sha-512-sums", "B2SUMS"}
    assert algorithm_of_list(f"/x/{name}") == algorithm


@pytest.mark.parametrize(
    "name",
    [
        *("a.wav", "notes.txt", "manifest.txt", "bagit.txt", "tagmanifest-md5.txt", "song.ffp", "song.st5", "song.sfv"),
        *("B2SUMS", "SHA3SUMS", "manifest-blake2b.txt", "SHA256SUMS.asc", "song.md5.wav"),
    ],
)
def test_other_names_are_no_lists(name: str) -> None:
    """They are looked into as any file of a folder is; digests of samples (`.ffp`, `.st5`) are not of the file."""
    assert not is_list_name(name)


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
