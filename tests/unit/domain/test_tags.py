"""Two spellings of one tag that differ in case alone are one tag."""

import pytest

from proofsweep.domain.errors import UsageError
from proofsweep.domain.tags import known_tag, spellings_by_key, tag_named, tag_of, unified


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
