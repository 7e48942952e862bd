"""Tags: the further columns of a manifest. Two spellings that differ in case alone are one tag. Pure."""

import json
import unicodedata
from collections.abc import Iterable, Mapping

from proofsweep.domain.errors import UsageError
from proofsweep.domain.text import did_you_mean, printable


def key_of_tag(name: str) -> str:
    """Return what two spellings of one tag have in common."""
    return name.strip().casefold()


def key_of_value(value: str) -> str:
    """Return what two spellings of one supplier have in common: case, outer blanks and composed letters do not count.

    `answers.views` has the same in SQL.
    """
    return unicodedata.normalize("NFC", value.strip()).lower()


def tags_of(tags_json: str | None) -> dict[str, str]:
    return json.loads(tags_json) if tags_json else {}


def tag_named(name: str, known: Iterable[str]) -> str | None:
    """Return the known spelling of a tag, the exact one first; None if no tag is known by this name."""
    names = list(known)
    if name in names:
        return name
    key = key_of_tag(name)
    return next((each for each in names if key_of_tag(each) == key), None)


def tag_of(tags: Mapping[str, str], name: str) -> str | None:
    spelling = tag_named(name, tags)
    return None if spelling is None else tags[spelling]


def unified(tags: Mapping[str, str], spellings: dict[str, str]) -> dict[str, str]:
    """Return a row's tags, each in the spelling in which it came first; `spellings` keeps these by `key_of_tag`."""
    return {spellings.setdefault(key_of_tag(name), name): value for name, value in tags.items()}


def spellings_by_key(names: Iterable[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        found.setdefault(key_of_tag(name), []).append(name)
    return found


def known_tag(name: str, known: Iterable[str]) -> str:
    """Return the known spelling of a tag; UsageError, which names the tags that there are, if no row has it."""
    names = [spellings[0] for spellings in spellings_by_key(known).values()]
    found = tag_named(name, names)
    if found is None:
        there_are = f"there are {', '.join(map(printable, names))}" if names else "these rows have no tags"
        raise UsageError(f"No row has the tag {printable(name)!r}{did_you_mean(name, names)}; {there_are}.")
    return found
