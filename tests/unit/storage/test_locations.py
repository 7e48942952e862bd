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


@pytest.mark.parametrize("url", ["s3://bucket/a.wav", "gs://bucket/a.wav", "az://bucket/a.wav"])
def test_buckets_are_refused_in_words(url: str) -> None:
    """A bucket is not taken for a folder of that name."""
    with pytest.raises(CatalogError, match="buckets are not read by this version"):
        path_of(url, "/drop")


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
