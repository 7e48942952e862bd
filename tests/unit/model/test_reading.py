"""What a person says of a catalog's words is read, and written as options again."""

import pytest

from proofsweep.errors import UsageError
from proofsweep.model.reading import Reading, columns_of, encoding_named, path_maps_of
from proofsweep.model.selection import Selection


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
