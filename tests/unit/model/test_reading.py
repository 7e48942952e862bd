"""What a person says of a catalog's words is read, and written as options again."""

import pytest

from proofsweep.errors import UsageError
from proofsweep.model.reading import Reading, columns_of
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
