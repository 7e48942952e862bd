"""A finished rotation says where the new key is, and when the old one ends."""

from dataclasses import replace
from datetime import timedelta

from proofsweep.answers.operation_lines import json_of_rotation, lines_of_rotation

from ..model.test_key_rotation import NOW, rotation

KNOWN = replace(rotation(NOW + timedelta(hours=71)), new_key_id="k2")


def test_a_rotation_is_three_lines() -> None:
    """What was done, what ends when, and what is to do."""
    first, second, third = lines_of_rotation(KNOWN, "/etc/key", was_done=False)

    assert first == "Rotated: the new key k2 is tested, and is in /etc/key."
    assert second.startswith("The old key ends at 2026-11-23 11:00 UTC.")
    assert third.startswith("Put the new key wherever else")


def test_a_repeat_says_that_nothing_was_done() -> None:
    """And how to rotate once more."""
    said = " ".join(lines_of_rotation(KNOWN, "/etc/key", was_done=True))

    assert (
        "was rotated at 2026-11-20 12:00 UTC, and nothing was done now. The new key k2 is in /etc/key. --again" in said
    )


def test_an_end_that_the_service_did_not_say_is_an_estimate() -> None:
    """The contract's 72 hours are named as such."""
    said = " ".join(lines_of_rotation(rotation(), "/etc/key", was_done=False))

    assert "about 2026-11-23 12:00 UTC: the service did not say when" in said


def test_the_object_is_the_row_with_the_place() -> None:
    """For programs."""
    document = json_of_rotation(KNOWN, "/etc/key", was_done=False)

    assert (document["new_key_id"], document["place"], document["was_done"]) == ("k2", "/etc/key", False)
