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
    spellings_by_key,
    tag_named,
    tag_of,
    unified,
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


def test_a_value_is_found_in_any_spelling_and_kept_as_it_is() -> None:
    """Values differ in case; a row without the tag has none."""
    assert tag_of({"Supplier": "NORD"}, "supplier") == "NORD"
    assert tag_of({"Supplier": "NORD"}, "label") is None


def test_rows_of_two_manifests_share_one_spelling() -> None:
    """The one that came first names the tag in all of them."""
    spellings: dict[str, str] = {}

    found = [unified(tags, spellings) for tags in ({"Supplier": "a"}, {"supplier": "b", "UPC": "1"})]

    assert found == [{"Supplier": "a"}, {"Supplier": "b", "UPC": "1"}]
    assert list(spellings_by_key(["Supplier", "UPC", "supplier"]).values()) == [["Supplier", "supplier"], ["UPC"]]


def test_a_tag_that_no_row_has_is_refused_with_those_that_there_are() -> None:
    """Each is named once, in the order in which they were found; rows of a folder have none."""
    assert known_tag("SUPPLIER", ["release", "supplier"]) == "supplier"

    with pytest.raises(UsageError, match=r"^No row has the tag 'isrc'; there are supplier, release\.$"):
        known_tag("isrc", ["supplier", "release", "Supplier"])
    with pytest.raises(UsageError, match=r"^No row has the tag 'isrc'; these rows have no tags\.$"):
        known_tag("isrc", [])


def test_a_column_is_named_for_each_role() -> None:
    """A name may hold an equals sign and spaces; `none` means that no column is the id."""
    assert columns_of(["audio=Datei = Pfad", "id=none"]) == {"audio": "Datei = Pfad", "id": "none"}


@pytest.mark.parametrize("written", [["audio"], ["audio="], ["title=T"], ["audio=none"], ["id=a", "id=b"]])
def test_a_column_that_cannot_be_meant_is_refused(written: list[str]) -> None:
    """The line says how a column is written."""
    with pytest.raises(UsageError, match="write ROLE=NAME, once for each role"):
        columns_of(written)


def test_a_path_map_leads_to_an_absolute_path_or_a_url() -> None:
    """Both sides may hold equals signs."""
    written = [r"D:\Musik=/mnt/musik", r"\\nas\a=b=s3://bucket/x=y", "/old=/new"]

    maps = path_maps_of(written)

    assert maps == ((r"D:\Musik", "/mnt/musik"), (r"\\nas\a=b", "s3://bucket/x=y"), ("/old", "/new"))


@pytest.mark.parametrize("written", ["D:\\Musik", "=/mnt", "/=/mnt", "D:\\=musik", "D:\\=~/musik", "D:\\="])
def test_a_path_map_that_leads_nowhere_is_refused(written: str) -> None:
    """The line shows how one is written."""
    with pytest.raises(UsageError, match="write BEGINNING=FOLDER"):
        path_maps_of([written])


def test_an_encoding_has_the_name_of_its_codec() -> None:
    """People write it as they know it."""
    assert [encoding_named(name) for name in ("Windows-1252", "UTF8", "utf-8-sig")] == ["cp1252", "utf-8", "utf-8"]


@pytest.mark.parametrize("name", ["", "windows", "base64", "rot13", "x\0"])
def test_what_is_no_encoding_of_text_is_refused(name: str) -> None:
    """The line shows some."""
    with pytest.raises(UsageError, match="write one like utf-8, windows-1252"):
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


def test_other_checksums_are_lists() -> None:
    """Their locations are kept as they are resolved."""
    checksums = checksums_of(["SUMS", "column:md5"], "/here/{}".format)

    assert checksums == ("/here/SUMS", "column:md5:md5")
    assert checksum_lists_in(checksums) == ["/here/SUMS"]


@pytest.mark.parametrize("written", ["", " ", "column:", "column:isrc", "column::md5:", "column:x:crc32"])
def test_a_column_without_a_known_algorithm_is_refused(written: str) -> None:
    """The line says how to write it."""
    with pytest.raises(UsageError) as raised:
        checksums_of([written])

    assert raised.value.message.startswith(f"--checksums {written!r}: write ")
