"""A name that is nearly right is guessed, and nothing else."""

from proofsweep.text import ask_for, did_you_mean, no_such_tag


def test_two_letters_in_the_wrong_order_are_guessed() -> None:
    """A person who types fast swaps letters."""
    assert did_you_mean("suplpier", ["release", "supplier"]) == " (did you mean supplier?)"


def test_an_unlike_name_is_not_guessed() -> None:
    """A wrong guess is worse than none."""
    assert did_you_mean("isrc", ["release", "supplier"]) == ""
    assert ask_for("") == ""


def test_a_tag_that_no_row_has_is_named_with_those_that_there_are() -> None:
    """In the order in which they were found; rows of a folder have none."""
    assert no_such_tag("isrc", ["supplier", "release", "supplier"]) == (
        "No row has the tag 'isrc'; there are supplier, release."
    )
    assert no_such_tag("isrc", []) == "No row has the tag 'isrc'; these rows have no tags."
