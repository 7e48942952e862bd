"""Locations are understood as a person wrote them; a new file is whole and takes the place of none."""

import errno
import os
from pathlib import Path

import pytest

from proofsweep.config import locations
from proofsweep.config.locations import (
    hint_for,
    is_within,
    new_file,
    one_line,
    path_of,
    path_within,
    sync_file,
    url_of,
    without_secrets,
)
from proofsweep.domain.errors import CatalogError, UsageError


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("a.wav", "/drop/a.wav"),
        ("./sub//a.wav", "/drop/sub/a.wav"),
        ("/elsewhere/a.wav", "/elsewhere/a.wav"),
        ("../a.wav", "/drop/../a.wav"),
        (" a.wav ", "/drop/ a.wav "),
        ("-a.wav", "/drop/-a.wav"),
        ("100%25 #1?.wav", "/drop/100%25 #1?.wav"),
        ("file:///music/100%25%20%231?.wav", "/music/100% #1?.wav"),
        ("file://localhost/music/a.wav", "/music/a.wav"),
        ("FILE:///music/a.wav", "/music/a.wav"),
        ("file:///music/caf%E9.wav", "/music/caf\udce9.wav"),
        ("C:/a.wav", "/drop/C:/a.wav"),
    ],
)
def test_a_location_is_a_path_or_a_file_url(written: str, expected: str) -> None:
    """Paths are taken letter by letter, relative ones from the manifest's folder; only URLs have escapes."""
    assert path_of(written, "/drop") == expected


@pytest.mark.parametrize(
    ("written", "folder", "expected"),
    [
        ("s3://bucket/a.wav", "/drop", "s3://bucket/a.wav"),
        ("S3://Bucket/A.wav", "/drop", "s3://Bucket/A.wav"),
        ("s3://tenant:bucket/a.wav", "/drop", "s3://tenant:bucket/a.wav"),
        ("s3://bucket/12:30 @ home.wav", "/drop", "s3://bucket/12:30 @ home.wav"),
        ("gs://bucket/100%25 #1?.wav", "s3://other/drop", "gs://bucket/100%25 #1?.wav"),
        ("abfss://c@a.dfs.core.windows.net/a.wav", "/drop", "abfss://c@a.dfs.core.windows.net/a.wav"),
        ("a.wav", "s3://bucket/drop", "s3://bucket/drop/a.wav"),
        ("./sub/a.wav", "s3://bucket", "s3://bucket/sub/a.wav"),
        ("../a..b.wav", "s3://bucket/drop", "s3://bucket/a..b.wav"),
        ("../../../a.wav", "s3://bucket/drop", "s3://bucket/a.wav"),
        ("a//b.wav", "s3://bucket/drop", "s3://bucket/drop/a//b.wav"),
        ("/mnt/a.wav", "s3://bucket/drop", "/mnt/a.wav"),
        ("file:///mnt/a%20b.wav", "s3://bucket/drop", "/mnt/a b.wav"),
    ],
)
def test_a_bucket_url_holds_the_raw_key(written: str, folder: str, expected: str) -> None:
    """Nothing in it is an escape; relative locations are resolved beside the manifest, within its bucket."""
    assert path_of(written, folder) == expected


@pytest.mark.parametrize(
    "url",
    [
        "s3://me:hunter2@bucket/a.wav",
        "s3://hunter2@bucket/a.wav",
        "s3://AKIAIOSFODNN7EXAMPLE:hunter2/K7MDENG/bPx@bucket/prefix",
        "abfss://c:hunter2@a.dfs.core.windows.net/a.wav",
        "az://container/a.wav?sv=2022-11-02&sig=hunter2",
        "https://bucket.s3.amazonaws.com/a.wav?X-Amz-Signature=hunter2",
        "gs://bucket/a.wav?X-Goog-Signature=hunter2",
    ],
)
def test_a_secret_in_a_url_is_refused_and_not_repeated(url: str) -> None:
    """It would be in every table and log from then on."""
    with pytest.raises(CatalogError, match=r"docs/buckets\.md") as refused:
        path_of(url, "/drop")

    assert "hunter2" not in refused.value.message


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/drop/sub/a.wav", "sub/a.wav"),
        ("/drop/sub/../a.wav", "a.wav"),
        ("/drop/../other/a.wav", "/other/a.wav"),
        ("/dropped/a.wav", "/dropped/a.wav"),
        ("s3://bucket/a..b.wav", "s3://bucket/a..b.wav"),
    ],
)
def test_a_path_is_named_as_seen_from_its_catalog(path: str, expected: str) -> None:
    """Inside the catalog's folder the name holds on every machine; outside only the whole path does."""
    assert path_within(path, "/drop") == expected


def test_a_location_in_a_message_stays_a_line() -> None:
    """Line breaks, and bytes that are no text, are shown by their codes."""
    assert one_line("a\nb\udce9ü.wav") == r"a\nb\xe9ü.wav"


@pytest.mark.parametrize("name", ["Bad Bucket", "b\tc", "bücket", "a*b"])
def test_a_name_that_no_bucket_can_have_is_refused(name: str) -> None:
    """The library for buckets would end the process."""
    with pytest.raises(CatalogError, match="no bucket can have such a name"):
        path_of(f"s3://{name}/a.wav", "/drop")


@pytest.mark.parametrize(
    ("location", "folder", "expected"),
    [
        ("/drop/a.wav", "/drop", True),
        ("/drop", "/drop", True),
        ("/drop2/a.wav", "/drop", False),
        ("/a.wav", "/", True),
        ("s3://b/drop/a.wav", "s3://b/drop", True),
        ("s3://b/drop2/a.wav", "s3://b/drop", False),
        ("s3://b2/a.wav", "s3://b", False),
        ("s3://b/drop/../a.wav", "s3://b/drop", False),
        ("s3://b/drop/a..b.wav", "s3://b/drop", True),
        ("s3://b/a.wav", "/", False),
        ("/drop/a.wav", "s3://b", False),
    ],
)
def test_what_lies_within_a_folder_is_told_part_by_part(location: str, folder: str, *, expected: bool) -> None:
    """A name that only begins alike is another folder; some stores resolve a dot part of a key."""
    assert is_within(location, folder) is expected


@pytest.mark.parametrize("path", ["/drop/a b", "/caf\udce9%", "/", "s3://bucket/100%25 #1"])
def test_a_path_comes_back_from_its_url(path: str) -> None:
    """Also one that is not UTF-8, which JSON cannot hold."""
    url = url_of(path)

    assert path_of(url, "/") == path
    assert url.encode().decode() == url


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("https://me:word@host/a.wav?x=1#y", "https://host/a.wav"),
        ("https://host?token=1", "https://host"),
        ("s3://AKIAIOSFODNN7EXAMPLE:wo/rd#@bucket/a.wav", "s3://bucket/a.wav"),
        ("ftp://h/n\nl.wav", "ftp://h/n\\nl.wav"),
        ("s3:///a.wav", "s3:///a.wav"),
    ],
)
def test_of_a_url_that_is_not_read_no_secret_is_shown(written: str, shown: str) -> None:
    """A user, a query and a fragment may be secrets."""
    assert without_secrets(written) == shown


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("~/a.wav", "`~` is not expanded here"),
        (r"C:\music\a.wav", "looks like a Windows path"),
        ("D:/music/a.wav", "looks like a Windows path"),
        (r"\\server\music\a.wav", "looks like a Windows path"),
        (r"music\a.wav", "looks like a Windows path"),
        ("a.wav ", "begins or ends with a space"),
        ("a.wav", ""),
        (r"music/back\slash.wav", ""),
        ("s3://bucket/a.wav", ""),
    ],
)
def test_a_location_at_which_nothing_is_gets_a_hint(written: str, words: str) -> None:
    """A person sees what this program does not do; a good location gets none."""
    assert words in hint_for(written)
    assert bool(hint_for(written)) == bool(words)


def test_an_existing_file_stays_also_if_it_comes_meanwhile(tmp_path: Path) -> None:
    """The second writer is refused before it works, or at the end."""
    (tmp_path / "a").write_bytes(b"old")
    with pytest.raises(UsageError, match="a cannot be written: File exists"), new_file(tmp_path / "a"):
        pytest.fail("it works")
    with pytest.raises(UsageError, match="File exists"), new_file(tmp_path / "b"):
        (tmp_path / "b").write_bytes(b"other")

    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"a": b"old", "b": b"other"}


def test_a_file_that_comes_in_the_last_moment_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the last look and the naming is no moment in which another process's file can be replaced."""
    monkeypatch.setattr(locations, "_refuse_existing", lambda *_: None)

    with pytest.raises(UsageError, match="File exists"), new_file(tmp_path / "a"):
        (tmp_path / "a").write_bytes(b"other")

    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"other"]


def test_a_file_may_have_the_longest_name_that_there_is(tmp_path: Path) -> None:
    """What is written until it is whole has a short name of its own."""
    with new_file(tmp_path / ("a" * 255)) as file:
        file.write(b"whole")

    assert [path.name for path in tmp_path.iterdir()] == ["a" * 255]


def test_a_file_is_named_where_there_are_no_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """File systems such as FAT know no hard links."""

    def refuse(_draft: Path, _path: Path) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)

    with new_file(tmp_path / "a") as file:
        file.write(b"whole")

    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("a", b"whole")]


def test_what_is_in_a_buffer_is_synced_too(tmp_path: Path) -> None:
    with (tmp_path / "a").open("wb") as file:
        file.write(b"content")
        sync_file(file)
        assert (tmp_path / "a").read_bytes() == b"content"
