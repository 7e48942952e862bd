# ruff: noqa: S608 - the SQL is made of our own names and of quoted text
"""The data of the look-up: levels of records, each written once, of which the newest record of an item counts.

A level has its records in shards by the beginning of their IDs, and the words that find them in shards by the alphabet.
An update adds a level with what has changed. When levels are many, the small ones become one, so an update costs as
much as what has changed, however large the catalog is. A browser loads a few shards of each level.
"""

import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, groupby
from operator import attrgetter, itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb

from proofsweep.answers.views.store_files import StoreFiles
from proofsweep.answers.views.views import quoted
from proofsweep.background import some_at_once
from proofsweep.store.store import REQUESTS_AT_ONCE, Store, is_in_bucket

FILES_FOLDER = "files"
STATE_FOLDER = "_state"
SITE_SCHEME = "proofsweepsite"

# Mean bytes of a shard of records at most; none is much larger. Chosen: a list of ten files opens ten of them.
_SHARD_BYTES = 40_000
# Bytes of a shard of words at most, but for the last word. Chosen: a browser loads it in a moment.
_WORDS_BYTES = 60_000
# Files of one word that a level lists at most, 14 bytes each; of a more frequent word it has the number alone.
MOST_FOUND = 2_000
# Levels before small ones become one. Chosen: a browser looks into each.
_MOST_LEVELS = 4
# A level is merged with smaller ones unless it has so many times their records: then each record is written again only
# when its level has grown by a quarter.
_MUCH_LARGER = 4
# Records that are made and sorted at once, beside sixteen times as many. Chosen: 60,000 take 100 MB.
_AT_ONCE = 60_000

COLUMNS = "id, version, digest, payload, history, words"
"""Of a record: which item it is, the number of its update, what its look-up shows (null if it is in no catalog any
more), its answers that differ from the one before, and the words that find it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """One level.

    Attributes:
        name: of its folder.
        bits: how many first bits of an ID are the number of its shard.
        words: the first word of each shard of words.
        state: the objects with all columns of its records.
    """

    name: str
    records: int
    bits: int
    words: tuple[str, ...]
    state: tuple[str, ...]

    @property
    def folder(self) -> str:
        """Where its shards lie."""
        return f"{FILES_FOLDER}/{self.name}"


class Levels:
    """Writes the levels of a site, from a connection that sees the results store."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, store: Store) -> None:
        self._connection = connection
        self._store = store

    def reading(self, levels: Iterable[Level]) -> str:
        """Return the query for all records of some levels, of an item also those that do not count any more."""
        locations = ", ".join(quoted(self._location(name)) for level in levels for name in level.state)
        return f"SELECT {COLUMNS} FROM read_parquet([{locations}])"

    def write(self, name: str, records: int, query: Callable[[str], str]) -> Level:
        """Write so many records as a level; `query` gives those whose ID meets a condition."""
        with TemporaryDirectory(prefix="proofsweep-site-") as folder:
            files = [Path(folder, f"{number:02}.parquet") for number in range(len(slices_of(records)))]
            for condition, file in zip(slices_of(records), files, strict=True):
                self._connection.execute(
                    f"COPY ({query(condition)} ORDER BY id) TO {quoted(str(file))} (FORMAT parquet, COMPRESSION zstd)"
                )
            rows = f"read_parquet([{', '.join(quoted(str(each)) for each in files)}])"
            ((size,),) = self._connection.execute(f"SELECT sum(strlen(payload) + 30) FROM {rows}").fetchall()
            bits = max(0, math.ceil(math.log2((size or 1) / _SHARD_BYTES)))
            self._put(self._shards(name, files, bits))
            words = tuple(word for word, _ in self._put(self._words(name, rows)))
            state = {f"{STATE_FOLDER}/{name}/{each.name}": each for each in files}
            self._put(("", object_name, path.read_bytes()) for object_name, path in state.items())
        return Level(name=name, records=records, bits=bits, words=words, state=tuple(state))

    def merged(self, name: str, levels: Sequence[Level]) -> tuple[list[Level], list[Level]]:
        """Merge small levels if there are many; return the levels that count then, and those that do not any more."""
        small = small_ones(levels)
        if not small:
            return list(levels), []
        rows = self.reading(small)
        # What is in no catalog any more need not be hidden where there is nothing older.
        shown = "payload IS NOT NULL" if len(small) == len(levels) else "true"
        newest = f"SELECT id, max(version) AS version FROM ({rows}) GROUP BY id"

        def query(condition: str) -> str:
            return f"FROM ({rows}) SEMI JOIN ({newest}) USING (id, version) WHERE {shown} AND {condition}"

        ((records,),) = self._connection.execute(f"SELECT count(*) FROM ({query('true')})").fetchall()
        return [*(level for level in levels if level not in small), self.write(name, records, query)], small

    def _location(self, name: str) -> str:
        if is_in_bucket(self._store):
            if not self._connection.filesystem_is_registered(SITE_SCHEME):
                self._connection.register_filesystem(_SiteFiles(self._store))
            return f"{SITE_SCHEME}://{name}"
        return f"{self._store.url}/{name}"

    def _put(self, objects: Iterable[tuple[str, str, bytes]]) -> list[tuple[str, str]]:
        """Write objects, some at once; return what each begins with, and its name."""

        def put(named: tuple[str, str, bytes]) -> tuple[str, str]:
            first, name, content = named
            self._store.replace(name, content)
            return first, name

        return list(some_at_once(objects, put, REQUESTS_AT_ONCE))

    def _shards(self, name: str, files: Sequence[Path], bits: int) -> Iterator[tuple[str, str, bytes]]:
        """Make the shards of records; an ID is hexadecimal."""
        rows = (f"SELECT id, version, payload FROM read_parquet({quoted(str(file))}) ORDER BY id" for file in files)
        found = chain.from_iterable(_rows_of(self._connection, query) for query in rows)
        due = 0
        for shard, records in chain(groupby(found, lambda row: shard_of(str(row[0]), bits)), [(2**bits, iter(()))]):
            # Shards without a record are written too: a page that loads one finds it.
            yield from (_shard(name, empty, "") for empty in range(due, shard))
            body = ",".join(f'"{each}":[{version},{payload or "null"}]' for each, version, payload in records)
            yield from [_shard(name, shard, body)] if body else []
            due = shard + 1

    def _words(self, name: str, rows: str) -> Iterator[tuple[str, str, bytes]]:
        """Make the shards of words, each word with how many files it finds, and with their IDs unless they are many."""
        found = _rows_of(self._connection, f"SELECT unnest(words) AS word, id FROM {rows} ORDER BY word")
        lines: list[str] = []
        first, size, shard = "", 0, 0
        for word, named in chain(groupby(found, itemgetter(0)), [(None, iter(()))]):
            ids = [str(each) for _, each in named]
            listed = "".join(ids) if len(ids) <= MOST_FOUND else ""
            line = f'[{json.dumps(word, ensure_ascii=False)},{len(ids)},"{listed}"]'
            if lines and (word is None or size + len(line) > _WORDS_BYTES):
                content = script_of(f'proofsweep("words","{name}",{shard},[{",".join(lines)}])')
                yield first, f"{FILES_FOLDER}/{name}/w{shard}.js", content
                lines, size, shard = [], 0, shard + 1
            first = str(word) if not lines else first
            lines.append(line)
            size += len(line)


def _shard(level: str, shard: int, body: str) -> tuple[str, str, bytes]:
    content = script_of(f'proofsweep("records","{level}",{shard},{{{body}}})')
    return "", f"{FILES_FOLDER}/{level}/r{shard}.js", content


class _SiteFiles(StoreFiles):
    """The objects of a site in a bucket, as DuckDB reads them beside those of a results store."""

    protocol = SITE_SCHEME


def small_ones(levels: Sequence[Level]) -> list[Level]:
    """Choose what becomes one level: none if they are few; else the smallest two, and each next one not much larger."""
    if len(levels) <= _MOST_LEVELS:
        return []
    by_size = sorted(levels, key=attrgetter("records"))
    chosen = by_size[:2]
    for level in by_size[2:]:
        if level.records > _MUCH_LARGER * sum(each.records for each in chosen):
            break
        chosen.append(level)
    return chosen


def slices_of(records: int) -> list[str]:
    """Return the conditions on `id` by which so many records are made in turn, in the order of their IDs."""
    return [f"left(id, 1) = '{digit:x}'" for digit in range(16)] if records > _AT_ONCE else ["true"]


def shard_of(record_id: str, bits: int) -> int:
    """Return the shard of a record: the first bits of its ID."""
    return int(record_id[:8], 16) >> (32 - bits)


def script_of(text: str) -> bytes:
    """Encode a line of script so that no name in it ends a script, an attribute or a line, wherever it is put."""
    for char in "<>&\u2028\u2029":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return f"{text};\n".encode("utf-8", "replace")


def _rows_of(connection: duckdb.DuckDBPyConnection, query: str) -> Iterator[tuple[object, ...]]:
    """Yield the rows of a query; some thousand are in memory."""
    for batch in connection.sql(query).to_arrow_reader(10_000):
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)
