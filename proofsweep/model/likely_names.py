"""Guess which known name somebody meant. Pure."""

from collections.abc import Iterable
from difflib import get_close_matches

from proofsweep.text import printable

# How alike two names are at least, as difflib counts from 0 to 1. Chosen: with 0.6 it refuses variables that Kubernetes
# sets for a service of our name (`PROOFSWEEP_SERVICE_PORT`), with 0.9 it misses two letters in the wrong order.
ALIKE = 0.8


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Ask for the known name that is most like this one; nothing if none is."""
    alike = get_close_matches(name, known, 1, ALIKE)
    return ask_for(alike[0]) if alike else ""


def no_such_tag(tag: str, known: Iterable[str]) -> str:
    """Say that no row has a tag, and which tags there are."""
    names = list(dict.fromkeys(known))
    there_are = f"there are {', '.join(map(printable, names))}" if names else "these rows have no tags"
    return f"No row has the tag {printable(tag)!r}{did_you_mean(tag, names)}; {there_are}."


def ask_for(meant: str) -> str:
    """Ask whether this is meant; nothing if it is empty."""
    return f" (did you mean {meant}?)" if meant else ""
