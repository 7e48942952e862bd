"""Letters to suppliers: which of their files could not be accepted, why, and what is needed from them."""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self
from unicodedata import category, normalize

from proofsweep.answers.letter_texts import LetterTexts
from proofsweep.errors import ResultsError, UsageError
from proofsweep.files.locations import path_within
from proofsweep.model.reasons import about
from proofsweep.model.runs import Plan
from proofsweep.model.tables.columns import Row
from proofsweep.model.tags import known_tag, tag_of, tags_of
from proofsweep.new_file import new_file
from proofsweep.text import markdown, printable

TOLD_OUTCOMES = ("rejected", "ineligible")
"""Outcomes of files that a supplier may hear of: a file that failed at the service is none of theirs."""

COLUMNS = ("audio", "relative_path", "reason", "tags", "audio_sha256")
"""What letters read of a row of `verdicts`."""

# Chosen: file systems allow 255 bytes, and a name has an ending and a prefix.
_LONGEST_BYTES = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class LetterEntry:
    """A file that a letter names.

    Attributes:
        file: its name as its supplier knows it, below the folder of the delivery or catalog.
    """

    supplier: str
    reason: str
    file: str
    sha256: str | None = None
    isrc: str | None = None
    title: str | None = None

    @classmethod
    def of_delivered(cls, row: Row) -> Self:
        """Make an entry of a row of the table `ingest`."""
        file = path_within(str(row["audio"]), str(row["watched"]))
        return cls._of(row, str(row["supplier"] or ""), file)

    @classmethod
    def of_verified(cls, row: Row, supplier_tag: str) -> Self:
        """Make an entry of a row of the table `verdicts`; the supplier is the value of a tag."""
        tags = tags_of(str(row["tags"]) if row["tags"] else None)
        return cls._of(row, tag_of(tags, supplier_tag) or "", str(row["relative_path"] or row["audio"] or ""))

    @classmethod
    def _of(cls, row: Row, supplier: str, file: str) -> Self:
        tags = tags_of(str(row["tags"]) if row.get("tags") else None)
        sha256 = None if row["audio_sha256"] is None else str(row["audio_sha256"])
        named = {"isrc": tags.get("isrc") or None, "title": tags.get("title") or None}
        return cls(supplier=supplier, reason=str(row["reason"]), file=file, sha256=sha256, **named)


def entries_of(
    rows: Iterable[tuple[Plan, Row]], supplier_tag: str, *, is_required: bool = False
) -> Iterator[LetterEntry]:
    """Yield the files among some rows of `verdicts` of which their suppliers must hear.

    Raises:
        UsageError: the tag is required, and no row has it.
    """
    known: set[str] | None = None
    for _, row in rows:
        known = (known or set()) | tags_of(str(row["tags"]) if row["tags"] else None).keys()
        if about(str(row["reason"])).tells_supplier:
            yield LetterEntry.of_verified(row, supplier_tag)
    if is_required and known is not None:
        known_tag(supplier_tag, sorted(known))


def letters_of(entries: Iterable[LetterEntry], texts: LetterTexts) -> Mapping[str, str]:
    """Write a letter about these files to each supplier, by its name; it is empty for files without one."""
    by_supplier: dict[str, list[LetterEntry]] = defaultdict(list)
    for entry in entries:
        by_supplier[entry.supplier].append(entry)
    return {supplier: _letter(supplier, told, texts) for supplier, told in sorted(by_supplier.items())}


def write_letters(folder: str, name: str, entries: Iterable[LetterEntry], texts: LetterTexts) -> list[str]:
    """Write letters, each to a file named after its supplier and `name`; one that is there stays as it is.

    Raises:
        ResultsError: the folder cannot be written.
    """
    letters = {
        Path(folder, f"{file_name_of(each or 'no-supplier')}-{name}.md"): text
        for each, text in letters_of(entries, texts).items()
    }
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
        for path, letter in letters.items():
            if not path.exists():
                with new_file(path) as file:
                    file.write(letter.encode())
    except (OSError, UsageError) as error:
        because = error.message if isinstance(error, UsageError) else error.strerror or "unknown error"
        raise ResultsError(f"The letters cannot be written to {printable(folder)} ({because}).") from error
    return list(map(str, letters))


def file_name_of(value: str) -> str:
    """Name a file after a value; one with other characters gets a digest, so that no two are the same.

    Letters, marks and digits of every script stay: a supplier is found by its name.
    """
    kept = "".join(
        each if each in "._-" or category(each)[0] in "LMN" else "_" for each in normalize("NFC", value)
    ).lstrip(".")
    plain = kept.encode()[:_LONGEST_BYTES].decode(errors="ignore")
    if plain == value and plain:
        return plain
    return f"{plain or 'supplier'}-{hashlib.sha256(value.encode('utf-8', 'replace')).hexdigest()[:8]}"


def _letter(supplier: str, entries: Iterable[LetterEntry], texts: LetterTexts) -> str:
    by_reason: dict[str, list[LetterEntry]] = defaultdict(list)
    for entry in entries:
        by_reason[entry.reason].append(entry)
    lines = [f"# {texts.title_for(markdown(supplier))}", "", texts.opening]
    for reason in sorted(by_reason):
        problem = texts.about(reason)
        lines += ["", f"## {problem.what}", "", *([problem.why, ""] if problem.why else [])]
        lines += [f"**{texts.request}** {problem.request}", "", *map(_line, by_reason[reason])]
    return "\n".join([*lines, *(["", texts.closing] if texts.closing else [])]) + "\n"


def _line(entry: LetterEntry) -> str:
    track = [f"ISRC {markdown(entry.isrc)}"] if entry.isrc else []
    track += [f"“{markdown(entry.title)}”"] if entry.title else []
    named = f"- `{printable(entry.file).replace('`', chr(39))}`" + (f": {', '.join(track)}" if track else "")
    return named + (f" (SHA-256 {entry.sha256})" if entry.sha256 else "")
