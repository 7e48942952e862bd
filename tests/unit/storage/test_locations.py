"""Locations are understood as a person wrote them."""

import pytest

from proofsweep.errors import CatalogError
from proofsweep.storage.locations import one_line, path_of, path_within


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


def test_a_url_without_a_bucket_is_refused() -> None:
    """`s3:///a.wav` is a slash too many."""
    with pytest.raises(CatalogError, match="names no bucket"):
        path_of("s3:///a.wav", "/drop")


@pytest.mark.parametrize("url", ["https://host/a.wav", "file://host/a.wav"])
def test_other_urls_are_refused(url: str) -> None:
    """Nothing is fetched from another machine."""
    with pytest.raises(CatalogError, match=r"host/a\.wav: "):
        path_of(url, "/drop")


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


def test_a_path_is_named_as_seen_from_the_root() -> None:
    """The root's own slash is not counted twice."""
    assert path_within("/a.wav", "/") == "a.wav"


def test_a_location_in_a_message_stays_a_line() -> None:
    """Line breaks, and bytes that are no text, are shown by their codes."""
    assert one_line("a\nb\udce9ü.wav") == r"a\nb\xe9ü.wav"
