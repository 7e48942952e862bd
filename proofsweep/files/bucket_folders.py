"""Sort the objects of a bucket into folders, on local disk: millions of objects, listed in any order."""

import sqlite3
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter

from proofsweep.files.locations import root_and_key
from proofsweep.files.source import Folder
from proofsweep.model.items import FileFacts

# chosen: objects in memory before they are written to disk; half or twice changes only the memory.
_BATCH_ROWS = 1_000
_TABLES = """
    CREATE TABLE folder (place TEXT PRIMARY KEY) WITHOUT ROWID;
    CREATE TABLE object (place TEXT, name TEXT, size INTEGER, version TEXT, modified REAL, PRIMARY KEY (place, name))
        WITHOUT ROWID;
"""
_MARKERS = "DELETE FROM object WHERE size = 0 AND place || ? || name IN (SELECT place FROM folder)"
_IN_ORDER = """
    SELECT folder.place, name, size, version, modified FROM folder LEFT JOIN object ON object.place = folder.place
    ORDER BY folder.place, name
"""
_STEP = "\x01"
"""Replaces the slash: no character of a key sorts before it, so that a folder comes right before its subfolders."""


class BucketFolders:
    """The objects below one prefix, as folders."""

    def __init__(self, location: str) -> None:
        self._location = location.rstrip("/")
        self._prefix = root_and_key(self._location)[1]
        self._rows: list[tuple[str, str, int, str, float | None]] = []
        self._places = {""}
        self._file = sqlite3.connect("", check_same_thread=False)  # an unnamed file, deleted when closed
        self._file.executescript(_TABLES)
        self._file.execute("INSERT INTO folder VALUES ('')")

    def add(self, key: str, facts: FileFacts) -> None:
        """Add one object; of an object below a hidden folder, only the folder's name."""
        parts = key.removeprefix(self._prefix).lstrip("/").split("/")
        depth = next((index for index, part in enumerate(parts) if part.startswith(".")), len(parts) - 1)
        self._note_folders(parts[:depth])
        place = _STEP.join(["", *parts[:depth]])
        self._rows.append((place, parts[depth], facts.size_bytes, facts.version, facts.modified))
        if len(self._rows) == _BATCH_ROWS:
            self._write()

    def in_order(self) -> Iterator[Folder]:
        """Yield each folder before its subfolders; an empty object with a folder's name is no file."""
        self._write()
        self._file.execute(_MARKERS, (_STEP,))
        for place, rows in groupby(self._file.execute(_IN_ORDER), key=itemgetter(0)):
            files = {name: FileFacts(*facts) for _, name, *facts in rows if name is not None}
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
        self._file.executemany("INSERT OR IGNORE INTO object VALUES (?, ?, ?, ?, ?)", self._rows)
        self._rows, self._places = [], set()
