"""What a bucket's listing told, on local disk: as many objects as there are, in whatever order they were listed."""

import sqlite3
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter

from proofsweep.domain.items import FileFacts
from proofsweep.storage.files.source import Folder
from proofsweep.storage.locations import root_and_key

_ROWS = 1_000
_TABLES = """
    CREATE TABLE folder (place TEXT PRIMARY KEY) WITHOUT ROWID;
    CREATE TABLE object (place TEXT, name TEXT, size INTEGER, version TEXT, PRIMARY KEY (place, name)) WITHOUT ROWID;
"""
_MARKERS = "DELETE FROM object WHERE size = 0 AND place || ? || name IN (SELECT place FROM folder)"
_IN_ORDER = """
    SELECT folder.place, name, size, version FROM folder LEFT JOIN object ON object.place = folder.place
    ORDER BY folder.place, name
"""
_STEP = "\x01"
"""Stands for the slash: no letter of a key sorts before it, so that a folder is followed by all that is below it."""


class BucketFolders:
    """The objects below one prefix, to be had as folders."""

    def __init__(self, location: str) -> None:
        self._location = location.rstrip("/")
        self._prefix = root_and_key(self._location)[1]
        self._rows: list[tuple[str, str, int, str]] = []
        self._places = {""}
        self._file = sqlite3.connect("", check_same_thread=False)  # a nameless file, gone when it is closed
        self._file.executescript(_TABLES)
        self._file.execute("INSERT INTO folder VALUES ('')")

    def add(self, key: str, facts: FileFacts) -> None:
        """Take one object; of what lies below a hidden folder only that folder's name."""
        parts = key.removeprefix(self._prefix).lstrip("/").split("/")
        depth = next((index for index, part in enumerate(parts) if part.startswith(".")), len(parts) - 1)
        self._note_folders(parts[:depth])
        self._rows.append((_STEP.join(["", *parts[:depth]]), parts[depth], facts.size_bytes, facts.version))
        if len(self._rows) == _ROWS:
            self._write()

    def folders(self) -> Iterator[Folder]:
        """Give each folder before those below it; the empty objects that some tools leave for a folder are no files."""
        self._write()
        self._file.execute(_MARKERS, (_STEP,))
        for place, rows in groupby(self._file.execute(_IN_ORDER), key=itemgetter(0)):
            files = {name: FileFacts(size, version) for _, name, size, version in rows if name is not None}
            yield Folder(
                location=self._location + place.replace(_STEP, "/"),
                files=[name for name in files if not name.startswith(".")],
                hidden=[name for name in files if name.startswith(".")],
                known=files,
            )

    def _note_folders(self, parts: list[str]) -> None:
        for depth in range(1, len(parts) + 1):
            place = _STEP.join(["", *parts[:depth]])
            if place not in self._places:
                self._places.add(place)

    def _write(self) -> None:
        self._file.executemany("INSERT OR IGNORE INTO folder VALUES (?)", [(place,) for place in self._places])
        self._file.executemany("INSERT OR IGNORE INTO object VALUES (?, ?, ?, ?)", self._rows)
        self._rows, self._places = [], set()
