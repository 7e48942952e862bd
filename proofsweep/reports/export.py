"""Export rows as completion reports, or as letters to suppliers: one file, or one for each value of a tag."""

import hashlib
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import count
from pathlib import Path
from textwrap import TextWrapper
from typing import Any
from unicodedata import category, normalize

from proofsweep.config.locations import new_file
from proofsweep.domain.errors import UsageError
from proofsweep.domain.items import PROOF_PREFIX, Row
from proofsweep.domain.reasons import about
from proofsweep.domain.tags import key_of_tag, tag_of, tags_of
from proofsweep.domain.text import printable
from proofsweep.queries.selected_rows import SelectedRows, having
from proofsweep.reports.sheets import CompletionReport, write_csv, write_json, write_parquet, write_xlsx

TOLD_OUTCOMES = ("rejected", "ineligible")  # a file that failed at the service is none of a supplier's
_LINE_LETTERS = 78


def sentences_for(reason: str) -> str:
    """Return what the supplier of a file with a reason is told: what is wrong, why, and what is needed."""
    about = _about(reason)
    return f"{about['what']}. {about['why']} {about['request']}"


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


def _part(number: int, reason: str, lines: Iterable[str]) -> str:
    about, listed = _about(reason), "\n".join(f"   - {line}" for line in lines)
    request, why = _indented(about["request"], f"{number}. "), _indented(f"{about['what']}. {about['why']}", "   ")
    return f"{request}\n\n{why}\n{listed}"


def _line(row: Row, tags: Mapping[str, str]) -> str:
    isrc, title = tag_of(tags, "isrc"), tag_of(tags, "title")
    facts = [printable(name_for_supplier(row)) or _texts()["no_name"]]
    facts += [f"ISRC {printable(isrc)}"] if isrc else []
    return ", ".join([*facts, *([f'"{printable(title)}"'] if title else [])])


def _indented(text: str, first: str) -> str:
    rest = " " * len(first)
    filled = TextWrapper(_LINE_LETTERS, first, rest, break_long_words=False, break_on_hyphens=False)
    return filled.fill(text)


LETTER = "letter"
_WRITERS = {"csv": write_csv, "xlsx": write_xlsx, "json": write_json, "parquet": write_parquet}
ENDINGS = {**{form: f".{form}" for form in _WRITERS}, LETTER: ".txt"}
# The own columns of a report: the file as seen from the catalog's root comes first, and the tags stand after it.
OWN_HEADER = (
    "file",
    *("outcome", "in_words", "what_to_do", "for_supplier", "detail", "reason", "verdict", "http_status", "error_code"),
    *("audio_bytes", "finished_at"),
    # Locations and IDs, for support.
    *("manifest_line", "audio", "sidecar", "id", "audio_sha256", "proof_id", "uploads_request_id", "verify_request_id"),
    "run_id",
)
_MADE = ("in_words", "what_to_do", "for_supplier", "id")
_COLUMNS = (*(name for name in OWN_HEADER if name not in _MADE), "item_id", "tags", "is_told")
_LONGEST_BYTES = 120  # file systems allow 255, and a name has an ending and a prefix


@dataclass(frozen=True, slots=True)
class WrittenReport:
    path: Path
    rows: int
    is_without_tag: bool  # whether its rows lack the tag by which the files are put apart


def export(selected: SelectedRows, outcomes: Sequence[str], path: Path, tag: str | None = None) -> list[WrittenReport]:
    """Write the rows to a file whose ending says its format; with a tag, to one for each of its values beside it.

    UsageError, and nothing is written, if a file exists or no row has the tag; UsageError if one cannot be written.
    """
    is_letter = path.suffix.lower() == ENDINGS[LETTER]
    with selected.opened(having(outcomes, is_told=is_letter)) as files:
        [value] = list(files.tag_values([] if tag is None else [tag]).values()) or ["''"]
        counts = files.counts_by(value)
        targets = [path] if tag is None else _targets(path, [spelling for _, spelling, _ in counts], tag)
        _refuse_existing(targets)
        spellings = {key: names[0] for key, names in files.spellings().items()}
        reports = []
        for (key, spelling, rows), target in zip(counts, targets, strict=False):
            found = _tagged(files.rows(_COLUMNS, value, key), spellings)
            with new_file(target) as file:
                if is_letter:
                    file.write(letter_to(spelling, found).encode("utf-8", "backslashreplace"))
                else:
                    names = list(spellings.values())
                    cells = (_cells(row, [tags.get(name) for name in names]) for row, tags in found)
                    report = CompletionReport(names, OWN_HEADER, cells, rows)
                    _WRITERS[target.suffix.lower().removeprefix(".")](file, report)
            reports.append(WrittenReport(target, rows, is_without_tag=tag is not None and not spelling))
        return reports


def _tagged(rows: Iterable[Row], spellings: Mapping[str, str]) -> Iterator[tuple[Row, dict[str, str]]]:
    """Yield each row with its tags, each in the one spelling of its column."""
    for row in rows:
        tags = tags_of(str(row["tags"] or ""))
        yield row, {spellings[key_of_tag(name)]: str(value) for name, value in tags.items()}


def _cells(row: Row, tags: Sequence[str | None]) -> list[object]:
    """Return the cells of a file: the report's own in the order of `OWN_HEADER`, and its tags after the first."""
    reason = str(row["reason"] or "")
    entry = about(reason, str(row["outcome"]))
    known = row | {
        "in_words": entry.plain,
        "what_to_do": entry.remedy,
        "for_supplier": sentences_for(reason) if row["is_told"] else None,
        "id": row["item_id"],
    }
    first, *others = (known[name] for name in OWN_HEADER)
    return [first, *tags, *others]


def file_name_of(value: str) -> str:
    """Name a file after a value, in letters of every script; others get a digest, so that no two are the same."""
    kept = "".join(
        each if each in "._-" or category(each)[0] in "LMN" else "_" for each in normalize("NFC", value)
    ).lstrip(".")
    plain = kept.encode()[:_LONGEST_BYTES].decode(errors="ignore")
    if plain == value and plain:
        return plain
    return f"{plain or 'supplier'}-{hashlib.sha256(value.encode('utf-8', 'replace')).hexdigest()[:8]}"


def _targets(path: Path, values: Sequence[str], tag: str) -> list[Path]:
    targets: list[Path] = []
    taken: set[str] = set()  # in small letters: a disk may not tell capital ones apart
    for value in values:
        plain = file_name_of(value) if value else f"no-{file_name_of(tag)}"
        names = (plain if number == 0 else f"{plain}-{number}" for number in count())
        name = next(each for each in names if each.lower() not in taken)
        taken.add(name.lower())
        targets.append(path.with_name(f"{path.stem}-{name}{path.suffix}"))
    return targets


def _refuse_existing(targets: Iterable[Path]) -> None:
    for target in targets:
        if target.exists():
            raise UsageError(
                f"{printable(str(target))} exists already; it is not overwritten. Name another with --file."
            )
