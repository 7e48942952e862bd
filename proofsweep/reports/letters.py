"""What a supplier is told of its files: in a letter, and in the cells of a list. Nothing of ours is in it."""

import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from textwrap import TextWrapper
from typing import Any

from proofsweep.config.locations import is_windows
from proofsweep.domain.items import PROOF_PREFIX, Row
from proofsweep.domain.tags import tag_of
from proofsweep.domain.text import printable

TOLD_OUTCOMES = ("rejected", "ineligible")  # a file that failed at the service is none of a supplier's
OPEN = "open"  # the outcome, as a supplier reads it, of a file of which it is not told
_LINE_LETTERS = 78


def sentences_for(reason: str) -> str:
    """Return what the supplier of a file with a reason is told: what is wrong, why, and what is needed."""
    return f"{_problem(reason)} {_about(reason)['request']}"


def words_for(row: Row) -> tuple[str, str | None, str | None]:
    """Return for a cell each: the outcome, what is wrong, and what is needed; without the last two if all is well."""
    outcome, reason = str(row["outcome"]), str(row["reason"] or "")
    if outcome == "accepted":
        return outcome, None, None
    if row["is_told"]:
        return outcome, _problem(reason), str(_about(reason)["request"])
    return OPEN, str(_texts()[OPEN]["what"]), str(_texts()[OPEN]["request"])


def letter_to(supplier: str, rows: Iterable[tuple[Row, Mapping[str, str]]]) -> str:
    """Write the letter about some files, each a row and its tags, by what is wrong with them."""
    by_reason: dict[str, list[str]] = {}
    for row, tags in rows:
        by_reason.setdefault(str(row["reason"]), []).append(_line(row, tags))
    problems = sorted(by_reason.items(), key=lambda problem: (-len(problem[1]), problem[0]))
    parts = [_part(number, reason, sorted(lines)) for number, (reason, lines) in enumerate(problems, 1)]
    title = f"{_texts()['title']} {printable(supplier) or _texts()['no_supplier']}"
    return "\n\n".join([title, _texts()["opening"], *parts]) + "\n"


def name_for_supplier(row: Row) -> str:
    """Name a file as its supplier knows it, below the catalog's root; empty for one that is known by its proof."""
    audio, relative = str(row["audio"] or ""), str(row["file"] or "")
    if audio.startswith(PROOF_PREFIX):
        return ""
    if is_windows(relative):  # a path of another machine, which leads nowhere here
        return relative.replace("\\", "/").rpartition("/")[2]
    leads_out = relative.startswith("/") or "://" in relative or ".." in relative.split("/")
    is_whole_path = audio == f"/{relative}"  # seen from the root of our disk, with all our folders
    if relative and not leads_out and not is_whole_path:
        return relative
    return (audio or relative).rpartition("/")[2]


def is_known_to_supplier(tag: str) -> bool:
    """Whether a tag names a recording or a release, as a supplier's own delivery does.

    A catalog has columns of ours too, hidden ones among them, and nothing tells which: no other tag is told.
    """
    return "".join(filter(str.isalnum, tag)).lower() in _texts()["known_tags"]


@cache
def _texts() -> Mapping[str, Any]:
    return tomllib.loads(files(__package__).joinpath("letters.toml").read_text(encoding="utf-8"))


def _about(reason: str) -> Mapping[str, str]:
    """Return what is said of a reason; a reason of a later version of the contract has no text of its own."""
    texts: Mapping[str, Mapping[str, str]] = _texts()["reasons"]
    return texts.get(reason, texts["other"])


def _problem(reason: str) -> str:
    texts = _about(reason)
    return f"{texts['what']}. {texts['why']}"


def _part(number: int, reason: str, lines: Iterable[str]) -> str:
    request = _indented(_about(reason)["request"], f"{number}. ")
    problem = _indented(_problem(reason), "   ")
    listed = "\n".join(f"   - {line}" for line in lines)
    return f"{request}\n\n{problem}\n{listed}"


def _line(row: Row, tags: Mapping[str, str]) -> str:
    isrc, title = tag_of(tags, "isrc"), tag_of(tags, "title")
    facts = [printable(name_for_supplier(row)) or _texts()["no_name"]]
    if isrc:
        facts.append(f"ISRC {printable(isrc)}")
    if title:
        facts.append(f'"{printable(title)}"')
    return ", ".join(facts)


def _indented(text: str, first: str) -> str:
    rest = " " * len(first)
    filled = TextWrapper(_LINE_LETTERS, first, rest, break_long_words=False, break_on_hyphens=False)
    return filled.fill(text)
