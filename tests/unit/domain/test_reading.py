"""What a person says of a catalog's words is read, and written as options again."""

import pytest

from proofsweep.domain.errors import UsageError
from proofsweep.domain.tags import Reading, checksums_of, columns_of, encoding_named, path_maps_of
from proofsweep.sources.selection import Selection


def test_a_column_is_named_for_each_role() -> None:
    """A name may hold an equals sign and spaces; `none` means that no column is the id."""
    assert columns_of(["audio=Datei = Pfad", "id=none"]) == {"audio": "Datei = Pfad", "id": "none"}


@pytest.mark.parametrize("written", [["audio"], ["audio="], ["title=T"], ["audio=none"], ["id=a", "id=b"]])
def test_a_column_that_cannot_be_meant_is_refused(written: list[str]) -> None:
    """The line says how a column is written."""
    with pytest.raises(UsageError, match="write ROLE=NAME, once for each role"):
        columns_of(written)


def test_what_was_said_goes_before_what_is_usual_and_is_part_of_a_selection() -> None:
    """Role by role; a run that was planned so goes on only with the same options."""
    usual = Reading(columns={"audio": "Datei", "id": "Nr"})

    reading = Reading(columns={"id": "none"}).over(usual)

    assert reading.columns == {"audio": "Datei", "id": "none"}
    assert Selection(reading=reading).text == "--column audio=Datei --column id=none"


def test_a_path_map_leads_to_an_absolute_path_or_a_url() -> None:
    """Both sides may hold equals signs."""
    written = [r"D:\Musik=/mnt/musik", r"\\nas\a=b=s3://bucket/x=y", "/old=/new"]

    maps = path_maps_of(written)

    assert maps == ((r"D:\Musik", "/mnt/musik"), (r"\\nas\a=b", "s3://bucket/x=y"), ("/old", "/new"))
    assert [value for _, value in Reading(path_maps=maps).options] == written
    assert Reading(path_maps=maps[:1]).over(Reading(path_maps=maps)).path_maps == maps


@pytest.mark.parametrize("written", ["D:\\Musik", "=/mnt", "/=/mnt", "D:\\=musik", "D:\\=~/musik", "D:\\="])
def test_a_path_map_that_leads_nowhere_is_refused(written: str) -> None:
    """The line shows how one is written."""
    with pytest.raises(UsageError, match="write BEGINNING=FOLDER"):
        path_maps_of([written])


def test_an_encoding_has_the_name_of_its_codec() -> None:
    """People write it as they know it."""
    assert [encoding_named(name) for name in ("Windows-1252", "UTF8", "utf-8-sig")] == ["cp1252", "utf-8", "utf-8"]
    assert Reading(encoding="cp1252").options == [("--encoding", "cp1252")]
    assert Reading().over(Reading(encoding="cp1252")).encoding == "cp1252"


@pytest.mark.parametrize("name", ["", "windows", "base64", "rot13", "x\0"])
def test_what_is_no_encoding_of_text_is_refused(name: str) -> None:
    """The line shows some."""
    with pytest.raises(UsageError, match="write one like utf-8, windows-1252"):
        encoding_named(name)


@pytest.mark.parametrize(
    ("number", "named_audio", "tags"),
    [
        (1, "Alba/x/a.wav", {"label": "Alba"}),
        (2, "Alba/x/a.wav", {"label": "x"}),
        (3, "Alba/x/a.wav", {}),
        (1, "a.wav", {}),
        (1, "Alba/", {"label": "Alba"}),
        (1, "/mnt/x/a.wav", {}),
        (1, "s3://bucket/x/a.wav", {}),
        (1, "proof:p-1", {}),
        (None, "Alba/a.wav", {}),
    ],
)
def test_a_folder_may_be_the_supplier(number: int | None, named_audio: str, tags: dict[str, str]) -> None:
    """As seen from the root; a file that lies less deep or outside has none."""
    assert Reading(supplier_from=number, supplier_tag="label").supplier_tags(named_audio) == tags


def test_a_column_of_the_supplier_goes_before_the_folder() -> None:
    """In any case; its empty cells stay empty."""
    reading = Reading(supplier_from=1)

    assert reading.supplier_tags("Alba/a.wav", ["isrc", "Supplier"]) == {}
    assert (reading.with_supplier(["Supplier"]), reading.with_supplier(["isrc"])) == (
        ["Supplier"],
        ["isrc", "supplier"],
    )
    assert Reading().with_supplier(["isrc"]) == ["isrc"]
    assert Reading(supplier_from=2).over(Reading(supplier_from=1, supplier_tag="label")) == Reading(
        supplier_from=2, supplier_tag="label"
    )


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
    reading = Reading(checksums=checksums_of([written]))

    assert reading.checksum_columns == columns
    assert reading.checksum_lists == []
    assert checksums_of(reading.checksums) == reading.checksums


def test_other_checksums_are_lists() -> None:
    """Their locations are kept as they are resolved, and are options of the command line again."""
    reading = Reading(checksums=checksums_of(["SUMS", "column:md5"], "/here/{}".format))

    assert reading.checksum_lists == ["/here/SUMS"]
    assert reading.options == [("--checksums", "/here/SUMS"), ("--checksums", "column:md5:md5")]
    assert reading.over(Reading(checksums=("/usual", "/here/SUMS"))).checksum_lists == ["/here/SUMS", "/usual"]


@pytest.mark.parametrize("written", ["", " ", "column:", "column:isrc", "column::md5:", "column:x:crc32"])
def test_a_column_without_a_known_algorithm_is_refused(written: str) -> None:
    """The line says how to write it."""
    with pytest.raises(UsageError) as raised:
        checksums_of([written])

    assert raised.value.message.startswith(f"--checksums {written!r}: write ")
