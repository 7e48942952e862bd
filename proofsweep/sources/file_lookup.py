"""Where the cells of a manifest lead, and what is known of the files there.

Files of this machine are looked at one by one; objects in listings, since one request for each of a million objects
would take hours.
"""

import posixpath
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property, lru_cache
from itertools import islice, takewhile
from typing import TYPE_CHECKING

from proofsweep.config.locations import (
    is_bucket,
    is_windows,
    is_within,
    one_line,
    path_of,
    root_and_key,
    without_secrets,
)
from proofsweep.domain.errors import CatalogError, SourceError
from proofsweep.domain.items import NO_PROOF_IDS, FileFacts, Unlisted, proof_id_of, utf8_text
from proofsweep.domain.reasons import Reason
from proofsweep.sources.catalog import CatalogBase
from proofsweep.sources.files import Files
from proofsweep.sources.names import caseless, composed

if TYPE_CHECKING:
    from proofsweep.sources.bucket import BucketFiles

_FOLDERS_KEPT = 64  # whose names are kept
# Rows in more folders of a bucket are looked up in the folder above all of them, among keys that nobody wants.
MOST_LISTINGS = 100
# A listing ends after so many keys, and so many more for each wanted row; then what it has not met stays unknown until
# the items run.
_SPARE_KEYS = 100_000
_KEYS_PER_ROW = 100
_TABLES = """
    CREATE TABLE wanted (form TEXT PRIMARY KEY) WITHOUT ROWID;
    CREATE TABLE object (form TEXT, location TEXT, size INTEGER, version TEXT, modified REAL,
        PRIMARY KEY (form, location)) WITHOUT ROWID;
"""
_WANT = "INSERT OR IGNORE INTO wanted VALUES (?)"
_KEEP = """
    INSERT OR REPLACE INTO object SELECT ?1, ?2, ?3, ?4, ?5 WHERE EXISTS (SELECT 1 FROM wanted WHERE form = ?1)
"""
_FACTS = "SELECT size, version, modified FROM object WHERE form = ? AND location = ?"
_SPELLED = "SELECT min(location) FROM object WHERE form = ?"


class CellLocations:
    r"""The locations that cells name, also of another machine, such as `D:\Musik\song.wav`."""

    def __init__(self, base: CatalogBase, path_maps: Iterable[tuple[str, str]]) -> None:
        self._base = base
        cut = ((caseless(_forward(written).rstrip("/")).split("/"), folder) for written, folder in path_maps)
        self._maps = sorted(cut, key=lambda each: -len(each[0]))

    def located(self, cell: str | None, folder: str) -> tuple[str | None, str | None]:
        """Return the location that a cell names; if it is none, what may be shown of it, and what is wrong."""
        if cell is None:
            return None, None
        proof_id = proof_id_of(cell)
        if proof_id is not None:
            is_one = proof_id.strip() and proof_id not in NO_PROOF_IDS and utf8_text(proof_id) == proof_id
            return cell, None if is_one else "this is no proof ID."
        written = self.mapped(cell)
        if is_windows(written):
            return without_secrets(written), "this is a path of Windows: set catalog.path_map."
        try:
            return self._base.without_dots(path_of(_forward(written) if ".\\" in written else written, folder)), None
        except CatalogError as error:
            return without_secrets(cell), error.message

    def mapped(self, written: str) -> str:
        """Return where a written location leads by the longest beginning that fits; as it is if none does.

        They are compared part by part without regard to case, to the form of Unicode and to the slash.
        """
        parts = _forward(written).split("/") if self._maps else []
        for beginning, folder in self._maps:
            if [*map(caseless, parts[: len(beginning)])] == beginning:
                rest = "/".join(parts[len(beginning) :]).lstrip("/")
                return posixpath.join(folder, rest) if rest else folder
        return written


def _forward(written: str) -> str:
    return written.replace("\\", "/")


class FileLookup:
    """Finds files by what cells mean; the first object causes the listing of all objects that are `wanted`."""

    def __init__(self, files: Files, wanted: Callable[[], Iterable[str]], catalog: str) -> None:
        self._files = files
        self._catalog = catalog
        self._wanted = wanted
        self._names = lru_cache(_FOLDERS_KEPT)(self._names_in)

    def facts(self, location: str) -> FileFacts | Unlisted | None:
        """Return what is known of a file; CatalogError if objects cannot be listed, SourceError if it is this file."""
        if location.startswith("/"):
            return self._files.facts(location)
        if proof_id_of(location) is not None:
            return Unlisted.UNLISTED
        self._files.refuse_outside(location)
        return self._objects.facts(location)

    def found(self, location: str | None) -> str | None:
        """Return a location as it is spelled there.

        A backslash is a slash, unless a file is named with it. File systems and archives change the form of Unicode.
        """
        if location is None or (location.isascii() and "\\" not in location) or self._is_there(location):
            return location
        location = _forward(location)
        return self._objects.spelled(location) if is_bucket(location) else self._spelled(location)

    def _spelled(self, path: str) -> str:
        folder = _certain_folder(path)
        for name in path[len(folder) + 1 :].split("/"):
            names = self._names(folder or "/")
            folder = f"{folder}/{names.get(name) or names.get(composed(name), name)}"
        return folder

    def _names_in(self, folder: str) -> Mapping[str, str]:
        with suppress(SourceError):
            names = self._files.in_folder(folder)
            return {composed(name): name for name in names} | {name: name for name in names}
        return {}

    def _is_there(self, location: str) -> bool:
        with suppress(SourceError):
            return self.facts(location) is not None
        return False

    @cached_property
    def _objects(self) -> "ObjectLookup":
        try:
            return ObjectLookup(self._inside(), self._files.buckets)
        except SourceError as error:
            cause = f"its objects cannot be listed. {error.message}"
            raise CatalogError(f"{one_line(self._catalog)}: {cause}") from error

    def _inside(self) -> Iterator[str]:
        """Yield the bucket URLs that are wanted, except those outside the root, of which nothing is asked."""
        for location in filter(is_bucket, self._wanted()):
            with suppress(SourceError):
                self._files.refuse_outside(location)
                yield location


class ObjectLookup:
    """The facts of the objects that rows name, in any form of Unicode; on local disk, since there may be millions."""

    def __init__(self, locations: Iterable[str], files: "BucketFiles") -> None:
        """List the prefixes in which the locations lie; SourceError if a bucket can neither be listed nor read."""
        self._files = files
        self._listed: list[str] = []  # prefixes that were listed to their end
        self._table = sqlite3.connect("", check_same_thread=False)  # an unnamed file, deleted when closed
        self._table.executescript(_TABLES)
        folders: defaultdict[str, dict[str, str]] = defaultdict(dict)  # of each bucket, each with a location in it
        for location in locations:
            with suppress(UnicodeEncodeError):  # a bucket holds only UTF-8 keys
                self._table.execute(_WANT, (composed(location),))
                root, key = root_and_key(location)
                folders[root][_certain_folder(key)] = location
        [(rows,)] = self._table.execute("SELECT count(*) FROM wanted")
        for root, found in folders.items():
            for prefix in prefixes_of(found, MOST_LISTINGS):
                self._list(root, prefix, _SPARE_KEYS + _KEYS_PER_ROW * rows, next(iter(found.values())))

    def facts(self, location: str) -> FileFacts | Unlisted | None:
        """Return an object's facts; None if a complete listing does not hold it, UNLISTED if there is no such listing.

        SourceError, `unreadable_file`, if no such key can be requested.
        """
        from proofsweep.sources.bucket import refuse_bad_key  # noqa: PLC0415 - only for buckets

        refuse_bad_key(root_and_key(location)[1])
        with suppress(UnicodeEncodeError):
            if found := self._table.execute(_FACTS, (composed(location), location)).fetchone():
                return FileFacts(*found)
            if not any(is_within(location, prefix) for prefix in self._listed):
                return Unlisted.UNLISTED
        return None

    def spelled(self, location: str) -> str:
        """Return the URL of an object that has a missing one's key in another form; else that of the missing one."""
        with suppress(UnicodeEncodeError):
            [(found,)] = self._table.execute(_SPELLED, (composed(location),))
            return found or location
        return location

    def _list(self, root: str, prefix: str, most_keys: int, example: str) -> None:
        location = f"{root}/{prefix}".rstrip("/")
        try:
            listed = self._files.listed(location)
            found = ((f"{root}/{key}", facts) for key, facts in islice(listed, most_keys))
            rows = ((composed(url), url, each.size_bytes, each.version, each.modified) for url, each in found)
            self._table.executemany(_KEEP, rows)
            if next(listed, None) is None:  # else what is not listed may be there
                self._listed.append(location)
        except SourceError as error:
            if error.reason == Reason.SOURCE_FORBIDDEN:
                self._must_be_readable(example)
            elif error.reason != Reason.UNREADABLE_FILE:  # one odd key breaks it
                raise

    def _must_be_readable(self, location: str) -> None:
        """Leave sizes unknown if listing is forbidden, as long as an object can be read."""
        try:
            self._files.facts(location)
        except SourceError as error:
            if error.reason != Reason.UNREADABLE_FILE:
                raise


def prefixes_of(folders: Iterable[str], most: int) -> list[str]:
    """Return the prefixes to list for some folders of keys, none within another: of too many, the one above all."""
    chosen: list[str] = []
    for folder in sorted({*folders}, key=lambda each: each.split("/") if each else []):
        if not chosen or not f"{folder}/".startswith(f"{chosen[-1]}/" if chosen[-1] else ""):
            chosen.append(folder)
    if len(chosen) <= most:
        return chosen
    return ["/".join(posixpath.commonprefix([each.split("/") for each in chosen]))]


def _certain_folder(key: str) -> str:
    """Return the folders of a key up to the first whose name may have another form of Unicode in the bucket."""
    return "/".join(takewhile(str.isascii, key.split("/")[:-1]))
