"""A tag has one name in any case; what a person says of columns, paths, encodings and checksums is read."""

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


@pytest.mark.parametrize("given", [{"audio": " "}, {"title": "T"}, {"audio": "none"}])
def test_a_column_that_cannot_be_meant_is_refused(given: dict[str, str]) -> None:
    """The line says which roles there are."""
    with pytest.raises(ValueError, match="must name a column for audio, sidecar or id"):
        columns_of(given)


@pytest.mark.parametrize("written", ["D:\\Musik", "=/mnt", "/=/mnt", "D:\\=musik", "D:\\=~/musik", "D:\\="])
def test_a_path_map_that_leads_nowhere_is_refused(written: str) -> None:
    """The line shows how one is written."""
    with pytest.raises(ValueError, match="must be a list like"):
        path_maps_of([written])


@pytest.mark.parametrize("name", ["", "windows", "base64", "rot13", "x\0"])
def test_what_is_no_encoding_of_text_is_refused(name: str) -> None:
    """The line shows some."""
    with pytest.raises(ValueError, match="must be an encoding of text, like utf-8, windows-1252"):
        encoding_named(name)


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


@pytest.mark.parametrize("written", ["", " ", "column:", "column:isrc", "column::md5:", "column:x:crc32"])
def test_a_column_without_a_known_algorithm_is_refused(written: str) -> None:
    """The line says how to write it."""
    with pytest.raises(ValueError, match=r"column:md5"):
        checksums_of([written])
