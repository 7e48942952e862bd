"""Rows of a report, put apart on local disk by the value of a tag: neither rows nor values must fit in memory."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

# Chosen: rows in memory before they go to disk, some 5 MB; half opens twice as many files, twice needs twice that.
_WAITING_ROWS = 5_000


@dataclass(frozen=True, slots=True)
class ReportRow:
    """One row: its locations and id, its tags, and the report's own cells."""

    locations: Sequence[str | None]
    tags: Mapping[str, str]
    own: Sequence[object]


class GroupedRows:
    """Takes rows in any order, and gives those of one group in the order in which they came.

    Attributes:
        counts: rows by group.
        tag_names: of each group the names of its tags, in the order in which they came.
    """

    def __init__(self, folder: Path) -> None:
        self.counts: Counter[str] = Counter()
        self.tag_names: dict[str, dict[str, None]] = defaultdict(dict)
        self._folder = folder
        self._numbers: dict[str, int] = {}
        self._waiting: dict[str, list[str]] = defaultdict(list)
        self._waiting_rows = 0

    def add(self, group: str, row: ReportRow) -> None:
        """Take a row."""
        self.counts[group] += 1
        self.tag_names[group].update(dict.fromkeys(row.tags))
        self._waiting[group].append(json.dumps([row.locations, row.tags, row.own], default=_text_of))
        self._waiting_rows += 1
        if self._waiting_rows == _WAITING_ROWS:
            self._flush()

    def rows(self, group: str) -> Iterator[ReportRow]:
        """Give the rows of a group; instants are ISO text."""
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


def _text_of(value: object) -> str:
    return value.isoformat(timespec="seconds") if isinstance(value, datetime) else str(value)
