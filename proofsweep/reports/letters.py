"""What suppliers are told of their files: in a column of lists, and in letters."""

import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from textwrap import fill
from typing import Any

from proofsweep.domain.items import PROOF_PREFIX, Row
from proofsweep.domain.tags import tag_of
from proofsweep.domain.text import printable

TOLD_OUTCOMES = ("rejected", "ineligible")  # a file that failed at the service is none of a supplier's
_LINE_LETTERS = 78


def sentences_for(reason: str) -> str:
    """Return what the supplier of a file with a reason is told: what is wrong, why, and what is needed."""
    return f"{_what_and_why(reason)} {_about(reason)['request']}"


def letter_to(supplier: str, rows: Iterable[tuple[Row, Mapping[str, str]]]) -> str:
    """Write the letter about some files, each a row and its tags, by what is wrong with them."""
    by_reason: dict[str, list[str]] = {}
    for row, tags in rows:
        by_reason.setdefault(str(row["reason"]), []).append(_line(row, tags))
    problems = sorted(by_reason.items(), key=lambda each: (-len(each[1]), each[0]))
    parts = [_part(number, reason, sorted(lines)) for number, (reason, lines) in enumerate(problems, 1)]
    title = f"{_texts()['title']} {printable(supplier) or _texts()['no_supplier']}"
    return "\n\n".join([title, _texts()["opening"], *parts]) + "\n"


def name_for_supplier(row: Row) -> str:
    """Name a file as its supplier knows it, below the catalog's root; empty for one that is known by its proof."""
    audio, relative = str(row["audio"] or ""), str(row["file"] or "")
    if audio.startswith(PROOF_PREFIX):
        return ""
    is_below = relative and not relative.startswith(("/", "../")) and "://" not in relative
    return relative if is_below else audio.rpartition("/")[2]


@cache
def _texts() -> Mapping[str, Any]:
    return tomllib.loads(files(__package__).joinpath("letters.toml").read_text(encoding="utf-8"))


def _about(reason: str) -> Mapping[str, str]:
    """Return what is said of a reason; a reason of a later version of the contract has no text of its own."""
    texts: Mapping[str, Mapping[str, str]] = _texts()["reasons"]
    return texts.get(reason, texts["other"])


def _what_and_why(reason: str) -> str:
    return f"{_about(reason)['what']}. {_about(reason)['why']}"


def _part(number: int, reason: str, lines: Iterable[str]) -> str:
    listed = "\n".join(f"   - {line}" for line in lines)
    request, about = _about(reason)["request"], _what_and_why(reason)
    return f"{_indented(request, f'{number}. ')}\n\n{_indented(about, '   ')}\n{listed}"


def _line(row: Row, tags: Mapping[str, str]) -> str:
    isrc, title = tag_of(tags, "isrc"), tag_of(tags, "title")
    facts = [printable(name_for_supplier(row)) or _texts()["no_name"]]
    facts += [f"ISRC {printable(isrc)}"] if isrc else []
    return ", ".join([*facts, *([f'"{printable(title)}"'] if title else [])])


def _indented(text: str, first: str) -> str:
    return fill(
        text,
        _LINE_LETTERS,
        initial_indent=first,
        subsequent_indent=" " * len(first),
        break_long_words=False,
        break_on_hyphens=False,
    )
