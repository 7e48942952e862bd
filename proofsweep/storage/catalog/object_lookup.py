"""The objects that a manifest names, looked up in listings: never one request for each."""

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import suppress

from proofsweep.domain.items import FileFacts, Unlisted
from proofsweep.domain.reasons import Reason
from proofsweep.errors import SourceError
from proofsweep.storage.catalog.prefixes import Prefixes
from proofsweep.storage.files.bucket_files import BucketFiles
from proofsweep.storage.locations import root_and_key

MOST_LISTINGS = 100
"""Of one bucket; rows that lie in more folders than that are looked up in the folders above."""

_SPARE_KEYS = 200_000
_KEYS_PER_ROW = 100
"""A listing is broken off when it goes past this many keys for each row that is looked for, and some to spare."""

_ROWS = 1_000
_TABLE = """
    CREATE TABLE object (root TEXT, key TEXT, size INTEGER, version TEXT, is_listed INTEGER DEFAULT 0,
    PRIMARY KEY (root, key)) WITHOUT ROWID
"""
_SET = "UPDATE object SET size = ?, version = ? WHERE root = ? AND key = ?"
_COVER = "UPDATE object SET is_listed = 1 WHERE root = ? AND key >= ? AND key < ?"
_RANGE = "SELECT min(key), max(key), count(*) FROM object WHERE root = ? AND is_listed = 0 AND key >= ? AND key < ?"
_LAST = "\U0010ffff"


class ObjectLookup:
    """What listings say of many objects; kept on local disk, as there may be millions."""

    def __init__(self, locations: Iterable[str], files: BucketFiles) -> None:
        """List the prefixes in which the locations lie.

        Raises:
            SourceError: a bucket can neither be listed nor read.
        """
        self._files = files
        self._table = sqlite3.connect("", check_same_thread=False)  # a nameless file, gone when it is closed
        self._table.execute(_TABLE)
        for root, prefixes in self._note(locations).items():
            for prefix in prefixes.chosen():
                self._list(root, prefix)

    def facts(self, location: str) -> FileFacts | Unlisted | None:
        """Give an object's facts; None when a listing that would hold it did not."""
        root, key = root_and_key(location)
        try:
            found = self._table.execute(
                "SELECT size, version, is_listed FROM object WHERE root = ? AND key = ?", (root, key)
            ).fetchone()
        except UnicodeEncodeError:  # no bucket holds a key that is not UTF-8
            return None
        if found is None or (found[0] is None and not found[2]):
            return Unlisted.UNLISTED
        return None if found[0] is None else FileFacts(found[0], found[1])

    def _note(self, locations: Iterable[str]) -> dict[str, Prefixes]:
        places: dict[str, Prefixes] = {}
        for root, key in map(root_and_key, locations):
            with suppress(UnicodeEncodeError):
                self._table.execute("INSERT OR IGNORE INTO object (root, key) VALUES (?, ?)", (root, key))
                places.setdefault(root, Prefixes(MOST_LISTINGS)).add(key.rpartition("/")[0])
        return places

    def _list(self, root: str, prefix: str) -> None:
        """List from before the first row to behind the last one that lies there, as far as that is worth it."""
        start = f"{prefix}/" if prefix else ""
        first, last, rows = self._table.execute(_RANGE, (root, start, start + _LAST)).fetchone()
        if not rows:
            return
        most_keys = _SPARE_KEYS + _KEYS_PER_ROW * rows
        try:
            end = self._take(root, self._files.listed(f"{root}/{prefix}", _before(first)), last, most_keys)
        except SourceError as error:
            self._go_without(error, f"{root}/{first}")
            return
        self._table.execute(_COVER, (root, start, end or start + _LAST))

    def _go_without(self, listing: SourceError, location: str) -> None:
        """Let sizes be seen when the items run: who may read need not be allowed to list, and one odd key hides all."""
        if listing.reason == Reason.UNREADABLE_FILE:
            return
        if listing.reason != Reason.SOURCE_FORBIDDEN:
            raise listing
        try:
            self._files.facts(location)
        except SourceError as error:
            if error.reason != Reason.UNREADABLE_FILE:
                raise

    def _take(self, root: str, listed: Iterator[tuple[str, FileFacts]], last: str, most_keys: int) -> str | None:
        """Take what is listed up to the last row's key; give the key before which all is known, None for all of it."""
        waiting: list[tuple[int, str, str, str]] = []
        is_sorted, before, end = True, "", None
        for number, (key, facts) in enumerate(listed):
            is_sorted = is_sorted and before <= key
            before = key
            if is_sorted and key > last:
                break
            if number >= most_keys:
                end = key if is_sorted else ""
                break
            waiting.append((facts.size_bytes, facts.version, root, key))
            if len(waiting) == _ROWS:
                self._table.executemany(_SET, waiting)
                waiting = []
        self._table.executemany(_SET, waiting)
        return end


def _before(key: str) -> str | None:
    """Name something that sorts shortly before a key, to list what comes behind it."""
    return key[:-1].rstrip("/.") or None
