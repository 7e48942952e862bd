"""A name that is nearly right is guessed, and nothing else."""

from proofsweep.text import ask_for, did_you_mean


def test_two_letters_in_the_wrong_order_are_guessed() -> None:
    """A person who types fast swaps letters."""
    assert did_you_mean("suplpier", ["release", "supplier"]) == " (did you mean supplier?)"


def test_an_unlike_name_is_not_guessed() -> None:
    """A wrong guess is worse than none."""
    assert did_you_mean("isrc", ["release", "supplier"]) == ""
    assert ask_for("") == ""
