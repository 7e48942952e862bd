"""Look up the objects that a manifest names in listings, instead of one request for each object."""

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any
from unicodedata import normalize

from proofsweep.config.buckets import FailureKind, failure_of
from proofsweep.config.locations import is_within, one_line, root_and_key
from proofsweep.domain.errors import SourceError
from proofsweep.domain.items import FileFacts, Unlisted
from proofsweep.domain.reasons import Reason
from proofsweep.sources.bucket import BucketFiles, refuse_bad_key
from proofsweep.sources.names import caseless, composed


def prefixes_of(folders: Iterable[str], most: int) -> list[str]:
    """Return the prefixes to list for some folders of keys, sorted, none within another.

    When there are more than `most`, all are shortened to a common depth; the empty one is the bucket itself.
    """
    depth: int | None = None
    shortened: set[str] = set()
    for folder in folders:
        shortened.add("/".join(folder.split("/")[:depth]))
        while len(shortened) > most:
            depth = max(each.count("/") for each in shortened)
            shortened = {"/".join(each.split("/")[:depth]) for each in shortened}
    chosen: list[str] = []
    for prefix in sorted(shortened, key=lambda each: each.split("/") if each else []):
        if not chosen or not f"{prefix}/".startswith(f"{chosen[-1]}/" if chosen[-1] else ""):
            chosen.append(prefix)
    return chosen


# Rows in more folders of a bucket are looked up in the folders above, among keys that nobody wants.
MOST_LISTINGS = 100
# A listing ends after so many keys, and so many more for each wanted row; then sizes stay unknown until the items run.
_SPARE_KEYS = 200_000
_KEYS_PER_ROW = 100
# `real` is the key of an object that is there instead of a missing one, in another form of Unicode or another case.
_TABLE = """
    CREATE TABLE object (root TEXT, key TEXT, size INTEGER, version TEXT, modified REAL, is_listed INTEGER DEFAULT 0,
    real TEXT, caseless TEXT, PRIMARY KEY (root, key)) WITHOUT ROWID
"""
_SET = "UPDATE object SET size = ?, version = ?, modified = ? WHERE key = ? AND root = ?"
_LOOK_FOR = """
    UPDATE object SET caseless = caseless(key) WHERE size IS NULL AND is_listed = 1;
    CREATE INDEX by_caseless ON object (root, caseless);
    CREATE INDEX by_real ON object (root, real);
"""
_SET_REAL = """
    UPDATE object SET size = ?1, version = ?2, modified = ?3, real = ?4 WHERE root = ?5 AND caseless = caseless(?4)
    AND (real IS NULL OR composed(key) = composed(?4))
"""
_COVER = "UPDATE object SET is_listed = 1 WHERE root = ? AND key >= ? AND key < ?"
_RANGE = "SELECT min(key), max(key), count(*) FROM object WHERE root = ? AND is_listed = 0 AND key >= ? AND key < ?"
_ROW = "SELECT size, version, modified, is_listed, real FROM object WHERE root = ? AND {} = ?"
_NO_ROW = (None, None, None, 0, None)
_LAST = "\U0010ffff"


class ObjectLookup:
    """The facts of many objects, on local disk, since there may be millions."""

    def __init__(self, locations: Iterable[str], files: BucketFiles, top: str = "") -> None:
        """List the prefixes in which the locations lie; SourceError if a bucket can neither be listed nor read."""
        self._files = files
        self._missing_buckets: set[str] = set()
        self._table = sqlite3.connect("", check_same_thread=False)  # an unnamed file, deleted when closed
        for each in (composed, caseless):
            self._table.create_function(each.__name__, 1, each, deterministic=True)
        self._table.execute(_TABLE)
        for root, key in map(root_and_key, locations):
            with suppress(UnicodeEncodeError):
                self._table.execute("INSERT OR IGNORE INTO object (root, key) VALUES (?, ?)", (root, key))
        for (root,) in self._table.execute("SELECT DISTINCT root FROM object").fetchall():
            keys = self._table.execute("SELECT key FROM object WHERE root = ?", (root,))
            for prefix in prefixes_of((key.rpartition("/")[0] for (key,) in keys), MOST_LISTINGS):
                self._list(root, prefix)
        self._look_for_others(top)

    def facts(self, location: str) -> FileFacts | Unlisted | None:
        """Return an object's facts; None if a complete listing does not hold it, UNLISTED if there is no such listing.

        Raises:
            SourceError: `missing_audio` if there is no such bucket, `unreadable_file` if no such key can be requested.
        """
        root, key = root_and_key(location)
        refuse_bad_key(key)
        if root in self._missing_buckets:
            raise SourceError(f"There is no bucket {one_line(root)}.", reason=Reason.MISSING_AUDIO)
        try:
            size, version, modified, is_listed, real = self._row(location) or self._row(location, "real") or _NO_ROW
        except UnicodeEncodeError:  # a bucket holds only UTF-8 keys
            return None
        if real not in {None, key} or (size is None and is_listed):
            return None
        return Unlisted.UNLISTED if size is None else FileFacts(size, version, modified)

    def instead_of(self, location: str) -> str | None:
        """Return the URL of an object whose key differs from a missing one's only in form or case."""
        with suppress(UnicodeEncodeError):
            row = self._row(location)
            return None if row is None or row[-1] is None else f"{root_and_key(location)[0]}/{row[-1]}"
        return None

    def _row(self, location: str, column: str = "key") -> tuple[Any, ...] | None:
        found: tuple[Any, ...] | None = self._table.execute(_ROW.format(column), root_and_key(location)).fetchone()
        return found

    def _list(self, root: str, prefix: str) -> None:
        """List from the first wanted key to the last one, up to a number of keys in proportion to the wanted rows."""
        start = f"{prefix}/" if prefix else ""
        first, last, rows = self._table.execute(_RANGE, (root, start, start + _LAST)).fetchone()
        if not rows:
            return
        most_keys = _SPARE_KEYS + _KEYS_PER_ROW * rows
        bad: set[str] = set()
        try:
            listed = self._files.listed(f"{root}/{prefix}", _before(first), bad=bad)
            end = self._take(_SET, root, listed, last, most_keys)
        except SourceError as error:
            if isinstance(error.__cause__, Exception) and failure_of(error.__cause__).kind is FailureKind.NO_BUCKET:
                self._missing_buckets.add(root)
            elif error.reason == Reason.SOURCE_FORBIDDEN:
                self._must_be_readable(f"{root}/{first}")
            elif error.reason != Reason.UNREADABLE_FILE:  # one odd key breaks it
                raise
            return
        if not bad:  # else what is not listed may be there
            self._table.execute(_COVER, (root, start, end or start + _LAST))

    def _look_for_others(self, top: str) -> None:
        """List all forms that missing keys may have below the top, in Unicode and in upper and lower case."""
        self._table.executescript(_LOOK_FOR)
        top_root, top_key = root_and_key(top)
        missing: dict[str, list[str]] = {}
        for root, key in self._table.execute("SELECT root, key FROM object WHERE caseless IS NOT NULL"):
            prefix = top_key if root == top_root else ""
            if not prefix or is_within(key, prefix):
                missing.setdefault(root, []).extend((min(forms := _forms(key, prefix)), max(forms)))
        for root, forms in missing.items():
            with suppress(SourceError):  # then they stay missing
                place = f"{root}/{top_key if root == top_root else ''}"
                listed = self._files.listed(place, _before(min(forms)), bad=set())
                self._take(_SET_REAL, root, listed, max(forms), _SPARE_KEYS)

    def _must_be_readable(self, location: str) -> None:
        """Leave sizes unknown if listing is forbidden, as long as an object can be read."""
        try:
            self._files.facts(location)
        except SourceError as error:
            if error.reason != Reason.UNREADABLE_FILE:
                raise

    def _take(
        self, update: str, root: str, listed: Iterator[tuple[str, FileFacts]], last: str, most_keys: int
    ) -> str | None:
        """Store what is listed up to the last wanted key; give the key where the listing ended early, else None."""
        ends: list[str] = []

        def cells() -> Iterator[tuple[int, str, float | None, str, str]]:
            is_sorted, before = True, ""
            for number, (key, facts) in enumerate(listed):
                is_sorted = is_sorted and before <= key
                before = key
                if is_sorted and key > last:
                    return
                if number >= most_keys:
                    ends.append(key if is_sorted else "")
                    return
                yield facts.size_bytes, facts.version, facts.modified, key, root

        self._table.executemany(update, cells())
        return ends[0] if ends else None


def _forms(key: str, prefix: str) -> list[str]:
    """Return the key in forms between which lie all others that it may have below a prefix."""
    above, rest = key[: len(prefix)], key[len(prefix) :]
    forms = (normalize(form, rest) for form in ("NFC", "NFD"))
    return [above + each for form in forms for each in (form, form.lower(), form.upper())]


def _before(key: str) -> str | None:
    return key[:-1].rstrip("/.") or None
