"""What all lists of a catalog declare of its files, on local disk: there may be a million lines."""

import os
import sqlite3
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from proofsweep.domain.items import raw_bytes
from proofsweep.sources.names import composed

_TABLE = """
    CREATE TABLE declared (
        file BLOB, algorithm TEXT, digest TEXT, is_named INTEGER, bag BLOB, is_seen INTEGER DEFAULT 0,
        PRIMARY KEY (file, algorithm)
    ) WITHOUT ROWID
"""
# A list that a person names goes before others; of two others that contradict each other, neither is believed.
_ADD = """
    INSERT INTO declared (file, algorithm, digest, is_named, bag) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (file, algorithm) DO UPDATE SET
    digest = CASE WHEN digest = excluded.digest OR is_named > excluded.is_named THEN digest ELSE '' END,
    bag = coalesce(bag, excluded.bag)
"""
_FIND = "SELECT algorithm, digest FROM declared WHERE file = ? AND digest <> ''"
_SEEN = "UPDATE declared SET is_seen = 1 WHERE file = ?"
_MISSING = "SELECT file, min(bag) FROM declared WHERE bag IS NOT NULL AND is_seen = 0 GROUP BY file ORDER BY file"
_CONTRADICTED = "SELECT count(*) FROM declared WHERE digest = ''"


class DeclaredFile(NamedTuple):
    named: str  # as seen from the catalog's root
    algorithm: str
    digest: str
    is_named: bool = False  # by a person, the list
    bag: str | None = None  # the folder of the bag whose manifest names the file


class DeclaredFiles:
    """Digests by file; composed and decomposed Unicode name the same one."""

    def __init__(self) -> None:
        self._table = sqlite3.connect("", check_same_thread=False)  # an unnamed file, deleted when closed
        self._table.execute(_TABLE)

    def close(self) -> None:
        self._table.close()

    def add(self, found: Iterable[DeclaredFile]) -> int:
        """Take what a list says, all of it or nothing if it cannot be read to its end; return how many digests."""
        with self._table:
            return self._table.executemany(_ADD, map(_cells, found)).rowcount

    def digests_of(self, named: str) -> dict[str, str]:
        return dict(self._table.execute(_FIND, (_key(named),)))

    def note_seen(self, names: Iterable[str]) -> None:
        with self._table:
            self._table.executemany(_SEEN, ((_key(each),) for each in names))

    def missing(self) -> Iterator[tuple[str, str]]:
        """Yield the files that bags name and that are not there, each with the folder of its bag."""
        for file, bag in self._table.execute(_MISSING):
            yield os.fsdecode(file), os.fsdecode(bag)

    def contradictions(self) -> int:
        [(count,)] = self._table.execute(_CONTRADICTED)
        return int(count)


def _cells(found: DeclaredFile) -> tuple[bytes, str, str, bool, bytes | None]:
    bag = None if found.bag is None else raw_bytes(found.bag)
    return _key(found.named), found.algorithm, found.digest, found.is_named, bag


def _key(named: str) -> bytes:
    return raw_bytes(composed(named))
