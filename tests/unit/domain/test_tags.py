"""A tag has one name in any case; what a person says of columns, paths, encodings and checksums is read."""

from collections.abc import Callable

import pytest

from proofsweep.domain.errors import UsageError
from proofsweep.domain.tags import (
    checksum_columns_in,
    checksum_lists_in,
    checksums_of,
    columns_of,
    encoding_named,
    known_tag,
    path_maps_of,
    tag_named,
)


@pytest.mark.parametrize(
    ("name", "known", "meant"),
    [
        ("supplier", ["Supplier", "supplier"], "supplier"),
        ("SUPPLIER ", ["Supplier", "supplier"], "Supplier"),
        ("straße", ["STRASSE"], "STRASSE"),
        ("label", ["Supplier"], None),
        ("label", [], None),
    ],
)
def test_the_exact_spelling_goes_before_another(name: str, known: list[str], meant: str | None) -> None:
    """Case and the space around do not matter, also beyond ASCII."""
    assert tag_named(name, known) == meant


def test_a_tag_that_no_row_has_is_refused_with_those_that_there_are() -> None:
    """Each is named once, in the order in which they were found; rows of a folder have none."""
    assert known_tag("SUPPLIER", ["release", "supplier"]) == "supplier"

    with pytest.raises(UsageError, match=r"^No row has the tag 'isrc'; there are supplier, release\.$"):
        known_tag("isrc", ["supplier", "release", "Supplier"])
    with pytest.raises(UsageError, match=r"^No row has the tag 'isrc'; these rows have no tags\.$"):
        known_tag("isrc", [])


NO_COLUMNS: list[object] = [{"audio": " "}, {"title": "T"}, {"audio": "none"}]
NO_MAPS = [[written] for written in ("D:\\Musik", "=/mnt", "/=/mnt", "D:\\=musik", "D:\\=~/musik", "D:\\=")]
NO_CHECKSUMS = [[written] for written in ("", " ", "column:", "column:isrc", "column::md5:", "column:x:crc32")]


@pytest.mark.parametrize(
    ("read", "given", "words"),
    [
        *((columns_of, given, "must name a column for audio, sidecar or id") for given in NO_COLUMNS),
        *((path_maps_of, given, "must be a list like") for given in NO_MAPS),
        *((encoding_named, name, "like utf-8, windows-1252") for name in ("", "windows", "base64", "rot13", "x\0")),
        *((checksums_of, given, "column:md5") for given in NO_CHECKSUMS),
    ],
)
def test_what_a_person_cannot_mean_is_refused(read: Callable[[object], object], given: object, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        read(given)


@pytest.mark.parametrize(
    ("written", "columns"),
    [
        ("column:md5", {"md5": "md5"}),
        ("column:SHA-256", {"SHA-256": "sha256"}),
        ("column:Hash:sha1", {"Hash": "sha1"}),
        ("column:my: hash : MD5", {"my: hash": "md5"}),
    ],
)
def test_a_column_of_digests_has_an_algorithm(written: str, columns: dict[str, str]) -> None:
    """By its name, or by what is written after it; reading it again changes nothing."""
    checksums = checksums_of([written])

    assert checksum_columns_in(checksums) == columns
    assert checksum_lists_in(checksums) == []
    assert checksums_of(checksums) == checksums
