"""Where the cells of a manifest lead, and what is known of the files there.

Files of this machine are looked at one by one; objects in listings, since one request for each of a million objects
would take hours.
"""

import os
import posixpath
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import cached_property, lru_cache
from itertools import islice
from typing import TYPE_CHECKING

from proofsweep.config.locations import (
    is_windows,
    is_within,
    location_in,
    one_line,
    path_of,
    root_and_key,
    split_location,
    without_secrets,
)
from proofsweep.domain.errors import CatalogError, SourceError
from proofsweep.domain.items import NO_PROOF_IDS, FileFacts, Unlisted, proof_id_of, utf8_text
from proofsweep.domain.reasons import Reason
from proofsweep.files.files import Files, kind_of
from proofsweep.files.names import caseless
from proofsweep.sources.catalog import CatalogBase
from proofsweep.sources.spelling import FolderNames, Match, Spellings, loose, match_of

if TYPE_CHECKING:
    from proofsweep.files.bucket_files import BucketFiles

_FOLDERS_KEPT = 256  # whose names are kept
_LOOKED_UP_LAST = 8  # locations of which is remembered what was found: those of one row are asked for several times
# A prefix of a bucket is listed again for another spelling of its name; of so many, since each costs a request.
_MOST_PREFIXES_SEARCHED = 200
_MOST_KEYS_SEARCHED = 10_000
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
_ALIKE = "SELECT location FROM object WHERE form = ?"


class CellLocations:
    r"""The locations that cells name, also of another machine, such as `D:\Musik\song.wav`."""

    def __init__(self, base: CatalogBase, path_maps: Iterable[tuple[str, str]]) -> None:
        self._base = base
        maps = list[tuple[list[str], str]]()
        for written, folder in path_maps:
            beginning = caseless(_forward(written).rstrip("/"))
            maps.append((beginning.split("/"), folder))
        self._maps = sorted(maps, key=lambda path_map: -len(path_map[0]))

    def located(self, cell: str | None, folder: str) -> tuple[str | None, str | None]:
        """Return the location that a cell names; if it is none, what may be shown of it, and what is wrong."""
        if cell is None:
            return None, None
        proof_id = proof_id_of(cell)
        if proof_id is not None:
            can_be_sent = proof_id.strip() and utf8_text(proof_id) == proof_id
            if can_be_sent and proof_id not in NO_PROOF_IDS:
                return cell, None
            return cell, "this is no proof ID."
        written = self.mapped(cell)
        if is_windows(written):
            return without_secrets(written), "this is a path of Windows: set catalog.path_map."
        if ".\\" in written:
            written = _forward(written)
        try:
            path = path_of(written, folder)
        except CatalogError as error:
            return without_secrets(cell), error.message
        return self._base.without_dots(path), None

    def mapped(self, written: str) -> str:
        """Return where a written location leads by the longest beginning that fits; as it is if none does.

        They are compared part by part without regard to case, to the form of Unicode and to the slash.
        """
        if not self._maps:
            return written
        parts = _forward(written).split("/")
        plain_parts = [caseless(part) for part in parts]
        for beginning, folder in self._maps:
            length = len(beginning)
            if plain_parts[:length] == beginning:
                rest = "/".join(parts[length:]).lstrip("/")
                return posixpath.join(folder, rest) if rest else folder
        return written


def _forward(written: str) -> str:
    return written.replace("\\", "/")


class FileLookup:
    """Finds files by what cells mean; the first object causes the listing of all objects that are `wanted`.

    A file that has the written name costs one look at it. Folders are listed only for other spellings.
    """

    def __init__(self, files: Files, wanted: Callable[[], Iterable[str]], catalog: str, top: str | None = None) -> None:
        """Take the folder or prefix `top` in which other spellings are looked for; None for anywhere."""
        self._files = files
        self._catalog = catalog
        self._wanted = wanted
        self._top = top
        self._prefixes_searched = 0
        self._facts = lru_cache(_LOOKED_UP_LAST)(self._facts_of)
        self._match = lru_cache(_LOOKED_UP_LAST)(self._match_of)
        self._names = lru_cache(_FOLDERS_KEPT)(self._names_in)
        self._listed_folder = lru_cache(_FOLDERS_KEPT)(self._as_listed)
        self._spellings = Spellings(self._names)

    def facts(self, location: str) -> FileFacts | Unlisted | None:
        """Return what is known of a file; CatalogError if objects cannot be listed, SourceError if it is this file."""
        return self._facts(location)

    def found(self, location: str | None) -> str | None:
        """Return a location as it is spelled there.

        A backslash is a slash, unless a file is named with it.
        """
        if location is None or self._is_there(location):
            return location
        return self._match(location).location or _forward(location)

    def missing_words(self, location: str) -> str:
        """Return what is there in place of a missing file, as sentences after a blank; empty if that is not known."""
        return self._match(location).words

    def listed(self, location: str) -> str:
        """Return the location of a file that is there as the listings of its folders spell it."""
        # A share that finds names in any case opens a file by a name that no listing has. What lies beside the file is
        # found by listings alone.
        if not location.startswith("/") or not self._is_there(location):
            return location
        folder, name = split_location(location)
        return self._as_in_listing(self._listed_folder(folder), name)

    def _facts_of(self, location: str) -> FileFacts | Unlisted | None:
        if location.startswith("/"):
            return self._files.facts(location)
        if proof_id_of(location) is not None:
            return Unlisted.UNLISTED
        self._files.refuse_outside(location)
        return self._objects.facts(location)

    def _match_of(self, location: str) -> Match:
        location = _forward(location)
        if not location.startswith("/"):
            return self._match_object(location)
        if self._top is None:
            return self._spellings.match(location, "")
        return self._match_inside(location, self._top)

    def _match_object(self, location: str) -> Match:
        if not kind_of(location).is_found_by_listing or (self._top is not None and not is_within(location, self._top)):
            return Match()
        match = self._objects.match(location)
        if match or not self._objects.may_be_searched(location):
            return match
        bucket, _ = root_and_key(location)
        match = self._spellings.match(location, self._top or bucket)
        # The listing of this folder has its facts: they need not be asked for once more.
        if match.location is not None:
            folder, name = posixpath.split(match.location)
            names = self._names(folder)
            if names is not None:
                self._objects.keep(match.location, names.known.get(name))
        return match

    def _match_inside(self, path: str, top: str) -> Match:
        # A path may lead below the top by a link above it. It is looked for where it leads, and nothing else is.
        if not is_within(path, top):
            with suppress(ValueError):  # no file can have such a name
                path = os.path.realpath(path)
        if not is_within(path, top):
            return Match()
        return self._spellings.match(path, top)

    def _as_listed(self, path: str) -> str:
        """Look for each name of a path in the listing of its folder, from the top down."""
        folder, name = split_location(path)
        if path in {self._top, "/"} or not name:
            return path
        return self._as_in_listing(self._listed_folder(folder), name)

    def _as_in_listing(self, folder: str, name: str) -> str:
        names = self._names(folder)
        if names is not None and name not in names.known:
            name = match_of(name, names.alike(name)).location or name
        return location_in(folder, name)

    def _names_in(self, folder: str) -> FolderNames | None:
        if kind_of(folder).is_found_by_listing:
            self._prefixes_searched += 1
            if self._prefixes_searched > _MOST_PREFIXES_SEARCHED:
                return None
        return names_in(self._files, folder)

    def _is_there(self, location: str) -> bool:
        try:
            return self._facts(location) is not None
        except SourceError:
            return False

    @cached_property
    def _objects(self) -> "ObjectLookup":
        try:
            return ObjectLookup(self._inside(), self._files.buckets)
        except SourceError as error:
            cause = f"its objects cannot be listed. {error.message}"
            raise CatalogError(f"{one_line(self._catalog)}: {cause}") from error

    def _inside(self) -> Iterator[str]:
        """Yield the bucket URLs that are wanted. Nothing is asked about those outside the root."""
        for location in self._wanted():
            if not kind_of(location).is_found_by_listing:
                continue
            with suppress(SourceError):
                self._files.refuse_outside(location)
                yield location


def names_in(files: Files, folder: str) -> FolderNames | None:
    """Return the names in a folder or prefix; None if it cannot be listed."""
    with suppress(SourceError):
        return FolderNames(files.entries(folder))
    return None


class ObjectLookup:
    """The facts of the objects that rows name, in any spelling; on local disk, since there may be millions."""

    def __init__(self, locations: Iterable[str], files: "BucketFiles") -> None:
        """List the prefixes in which the locations lie; SourceError if a bucket can neither be listed nor read."""
        self._files = files
        self._listed: dict[str, int] = {}  # prefixes that were listed to their end, with the number of their keys
        self._table = sqlite3.connect("", check_same_thread=False)  # an unnamed file, deleted when closed
        self._table.executescript(_TABLES)
        folders: defaultdict[str, dict[str, str]] = defaultdict(dict)  # of each bucket, each with a location in it
        for location in locations:
            with suppress(UnicodeEncodeError):  # a bucket holds only UTF-8 keys
                self._table.execute(_WANT, (_form_of(location),))
                root, key = root_and_key(location)
                folders[root][posixpath.dirname(key)] = location
        [(rows,)] = self._table.execute("SELECT count(*) FROM wanted")
        most_keys = _SPARE_KEYS + _KEYS_PER_ROW * rows
        for root, examples in folders.items():
            example = next(iter(examples.values()))
            for prefix in prefixes_of(examples, MOST_LISTINGS):
                self._list(root, prefix, most_keys, example)

    def facts(self, location: str) -> FileFacts | Unlisted | None:
        """Return an object's facts; None if a complete listing does not hold it, UNLISTED if there is no such listing.

        SourceError, `unreadable_file`, if no such key can be requested.
        """
        from proofsweep.files.bucket_listing import refuse_bad_key  # noqa: PLC0415 - only for buckets

        refuse_bad_key(root_and_key(location)[1])
        with suppress(UnicodeEncodeError):
            row = self._table.execute(_FACTS, (_form_of(location), location)).fetchone()
            if row:
                return FileFacts(*row)
            if not any(is_within(location, prefix) for prefix in self._listed):
                return Unlisted.UNLISTED
        return None

    def match(self, location: str) -> Match:
        """Find the object that is meant by a missing one's URL, among those in the listed prefixes."""
        with suppress(UnicodeEncodeError):
            rows = self._table.execute(_ALIKE, (_form_of(location),))
            return match_of(location, (url for (url,) in rows))
        return Match()

    def may_be_searched(self, location: str) -> bool:
        """Whether a missing object's folder is known to be small, or not to be there: listing it again costs little."""
        small = [prefix for prefix, keys in self._listed.items() if keys <= _MOST_KEYS_SEARCHED]
        return any(is_within(location, prefix) for prefix in small)

    def keep(self, location: str, facts: FileFacts | None) -> None:
        if facts is not None:
            with suppress(UnicodeEncodeError):
                row = (_form_of(location), location, facts.size_bytes, facts.version, facts.modified)
                self._table.execute(_KEEP, row)

    def _list(self, root: str, prefix: str, most_keys: int, example: str) -> None:
        location = f"{root}/{prefix}".rstrip("/")
        try:
            listed = self._files.listed(location)
            keys = 0
            for key, facts in islice(listed, most_keys):
                self.keep(f"{root}/{key}", facts)
                keys += 1
            if next(listed, None) is None:  # else what is not listed may be there
                self._listed[location] = keys
        except SourceError as error:
            if error.reason == Reason.SOURCE_FORBIDDEN:
                self._must_be_readable(example)
            elif error.reason != Reason.UNREADABLE_FILE:  # one odd key breaks it
                raise

    def _must_be_readable(self, location: str) -> None:
        # Where listing is forbidden, sizes stay unknown. That an object can be read shows that the key is good.
        try:
            self._files.facts(location)
        except SourceError as error:
            if error.reason != Reason.UNREADABLE_FILE:
                raise


def prefixes_of(folders: Iterable[str], most: int) -> list[str]:
    """Return the prefixes to list for some folders of keys, none within another: of too many, the one above all."""
    # Part by part, a folder comes right before those in it; as text, `a b` would come between `a` and `a/b`.
    parts_of_all = set[tuple[str, ...]]()
    for folder in folders:
        parts_of_all.add(tuple(folder.split("/")) if folder else ())
    chosen: list[tuple[str, ...]] = []
    for parts in sorted(parts_of_all):
        above = chosen[-1] if chosen else None
        if above is None or parts[: len(above)] != above:
            chosen.append(parts)
    if len(chosen) > most:
        return ["/".join(posixpath.commonprefix(chosen))]
    return ["/".join(parts) for parts in chosen]


def _form_of(url: str) -> str:
    """Return the same of URLs whose keys may mean the same object; a bucket has one name."""
    root, key = root_and_key(url)
    return f"{root}/{loose(key)}"
