"""A finished rotation in words."""

from collections.abc import Iterator
from datetime import UTC

from proofsweep.model.key_rotation import Rotation
from proofsweep.text import minute_of


def lines_of_rotation(rotation: Rotation, place: str, *, was_done: bool) -> Iterator[str]:
    """Say where the new key is, and when the old one ends; never what they are."""
    named = "the new key" if rotation.new_key_id is None else f"the new key {rotation.new_key_id}"
    if was_done:
        yield f"The key was rotated at {minute_of(rotation.answered_at.astimezone(UTC))}, and nothing was done now."
        yield f"{named.capitalize()} is in {place}. --again rotates the key in use once more."
    else:
        yield f"Rotated: {named} is tested, and is in {place}."
    yield f"The old key ends {_end_of(rotation)}. A run at work uses it until it is refused, then the new one."
    yield "Put the new key wherever else the old one is used; an alert reminds you a day before the old one ends."


def json_of_rotation(rotation: Rotation, place: str, *, was_done: bool) -> dict[str, object]:
    """Give the same as one object: the row of `rotations`, the place, and whether anything was done."""
    return rotation.row() | {"place": place, "was_done": was_done}


def _end_of(rotation: Rotation) -> str:
    at = minute_of(rotation.old_key_ends_at.astimezone(UTC))
    if rotation.previous_key_expires_at is None:
        return f"about {at}: the service did not say when, and the contract gives it 72 hours"
    return f"at {at}"
