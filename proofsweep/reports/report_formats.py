"""The rows of completion reports, grouped on disk, and a report as CSV, which can be verified again."""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from pathlib import Path

from proofsweep.domain.tags import unified
from proofsweep.sources.completion_report import defused

_WAITING_ROWS = 5_000


@dataclass(frozen=True, slots=True)
class ReportRow:
    tags: Mapping[str, str]
    own: Sequence[object]


@dataclass(frozen=True, slots=True)
class CompletionReport:
    tags: Sequence[str]
    own: Sequence[str]  # the names of the report's own columns; the tags stand after the first
    rows: Iterator[ReportRow]
    supplier_tag: str | None = None  # the tag by which totals are counted, if the rows have it

    @property
    def header(self) -> list[str]:
        return [self.own[0], *self.tags, *self.own[1:]]

    def cells(self, row: ReportRow) -> list[object]:
        return [row.own[0], *(row.tags.get(name) for name in self.tags), *row.own[1:]]


class GroupedRows:
    """Takes rows in any order, and gives those of one group in the order in which they came."""

    def __init__(self, folder: Path) -> None:
        self.counts: Counter[str] = Counter()
        self.tag_names: dict[str, dict[str, None]] = defaultdict(
            dict
        )  # in the order in which they came, in one spelling
        self._spellings: dict[str, str] = {}
        self._folder = folder
        self._numbers: dict[str, int] = {}
        self._waiting: dict[str, list[str]] = defaultdict(list)
        self._waiting_rows = 0

    def add(self, group: str, row: ReportRow) -> None:
        self.counts[group] += 1
        tags = unified(row.tags, self._spellings)
        self.tag_names[group].update(dict.fromkeys(tags))
        self._waiting[group].append(json.dumps([tags, row.own], default=_plain_text_of))
        self._waiting_rows += 1
        if self._waiting_rows == _WAITING_ROWS:
            self._flush()

    def rows(self, group: str) -> Iterator[ReportRow]:
        """Yield the rows of a group; instants are ISO text."""
        self._flush()
        with self._file_of(group).open(encoding="ascii") as lines:
            for line in lines:
                yield ReportRow(*json.loads(line))

    def _flush(self) -> None:
        for group, lines in self._waiting.items():
            with self._file_of(group).open("a", encoding="ascii") as file:
                file.writelines(f"{line}\n" for line in lines)
        self._waiting.clear()
        self._waiting_rows = 0

    def _file_of(self, group: str) -> Path:
        return self._folder / str(self._numbers.setdefault(group, len(self._numbers)))


def _plain_text_of(value: object) -> str:
    return value.isoformat(timespec="seconds") if isinstance(value, datetime) else str(value)


_CUTS = re.compile(r'[",;|\t\r\n]')  # quoted: some spreadsheets cut at semicolons, tabs and bars too


def write_csv(path: Path, report: CompletionReport) -> None:
    """Write a manifest with exact locations, marked as UTF-8; what a spreadsheet would run as a formula is defused."""
    with path.open("x", encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
        for cells in chain([list[object](report.header)], (report.cells(row) for row in report.rows)):
            file.write(",".join(map(_text_of, cells)) + "\r\n")


def _text_of(cell: object) -> str:
    if isinstance(cell, bool):
        return str(cell).lower()
    text = "" if cell is None else defused(str(cell))
    return '"' + text.replace('"', '""') + '"' if _CUTS.search(text) else text
