"""Where the cells of a manifest lead, and what is known of the files there.

Files of this machine are looked at one by one, their names part by part in folders; objects in listings, since one
request for each of a million objects would take hours.
"""

import posixpath
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, lru_cache
from itertools import islice, takewhile
from typing import TYPE_CHECKING

from proofsweep.config.locations import (
    hint_for,
    is_bucket,
    is_windows,
    is_within,
    one_line,
    path_of,
    path_within,
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
    CREATE TABLE wanted (root TEXT, caseless TEXT, key TEXT, PRIMARY KEY (root, caseless, key)) WITHOUT ROWID;
    CREATE TABLE object (root TEXT, caseless TEXT, key TEXT, size INTEGER, version TEXT, modified REAL,
        PRIMARY KEY (root, caseless, key)) WITHOUT ROWID;
"""
_WANT = "INSERT OR IGNORE INTO wanted VALUES (?, ?, ?)"
_KEEP = """
    INSERT OR REPLACE INTO object SELECT ?1, ?2, ?3, ?4, ?5, ?6
    WHERE EXISTS (SELECT 1 FROM wanted WHERE root = ?1 AND caseless = ?2)
"""
_FACTS = "SELECT size, version, modified FROM object WHERE root = ? AND caseless = ? AND key = ?"
_ALIKE = "SELECT key FROM object WHERE root = ? AND caseless = ? AND key <> ?"


class CellLocations:
    r"""The locations that cells name, also of another machine, such as `D:\Musik\song.wav`."""

    def __init__(self, base: CatalogBase, path_maps: Iterable[tuple[str, str]]) -> None:
        self._base = base
        cut = ((caseless(_forward(written).rstrip("/")).split("/"), folder) for written, folder in path_maps)
        self._maps = sorted(cut, key=lambda each: -len(each[0]))

    def located(self, cell: str | None, folder: str) -> tuple[Sequence[str], str | None]:
        """Return the locations that a cell may name, the likeliest first; if it names none, what may be shown of it.

        The second value is what is wrong then. A path of Windows comes first as it is written, and not joined to a
        folder of ours; backslashes may also be meant as slashes.
        """
        if cell is None:
            return (), None
        written = self.mapped(cell)
        location, wrong = self._as_written(written, folder)
        if wrong is not None:
            return (location,), wrong
        locations = [written, location] if is_windows(written) else [location]
        if "\\" in written:
            forward, wrong = self._as_written(_forward(written), folder)
            locations += [forward] if wrong is None else []
        return locations, None

    def mapped(self, written: str) -> str:
        """Return where a written location leads by the longest beginning that fits; as it is if none does.

        They are compared part by part without regard to case, to the form of Unicode and to the slash.
        """
        if not self._maps:
            return written
        parts = (written if written.startswith("/") else _forward(written)).split("/")  # POSIX names may hold one
        for beginning, folder in self._maps:
            if [*map(caseless, parts[: len(beginning)])] == beginning:
                rest = "/".join(parts[len(beginning) :]).lstrip("/")
                return posixpath.join(folder, rest) if rest else folder
        return written

    def hint(self, cell: str) -> str:
        """Return what may be wrong with a cell at whose location nothing is, in brackets; empty if it looks right."""
        written = self.mapped(cell)
        if not is_windows(written):
            return hint_for(written)
        parts = _forward(written).split("/")
        head = 4 if written.startswith("\\\\") else 1  # a server and its share, or a drive
        beginning = "\\".join(parts[: min(head + 1, len(parts) - 1)])
        return f" (this looks like a Windows path: set catalog.path_map = ['{one_line(beginning)}=FOLDER'])"

    def _as_written(self, cell: str, folder: str) -> tuple[str, str | None]:
        proof_id = proof_id_of(cell)
        if proof_id is not None:
            is_one = proof_id.strip() and proof_id not in NO_PROOF_IDS and utf8_text(proof_id) == proof_id
            return cell, None if is_one else "this is no proof ID."
        try:
            return self._base.without_dots(path_of(cell, folder)), None
        except CatalogError as error:
            return without_secrets(cell), error.message


def _forward(written: str) -> str:
    return written.replace("\\", "/")


class NameLookup:
    """Looks names up in folders, whose names it is given; those above the top are taken as they are written."""

    def __init__(self, names_in: Callable[[str], Iterable[str]], top: str) -> None:
        self._top = top
        self._names_in = names_in
        self._names = lru_cache(_FOLDERS_KEPT)(self._by_caseless)

    def found(self, location: str, form: Callable[[str], str] = composed) -> str | None:
        """Return the location of what has a name, or the same one in that form; None if nothing has."""
        return next(self._alike(location, form), None)

    def _alike(self, location: str, form: Callable[[str], str]) -> Iterator[str]:
        folder, name = posixpath.split(location)
        for above in self._folders_alike(folder, form):
            same = [each for each in self._names(above).get(caseless(name), ()) if form(each) == form(name)]
            yield from (posixpath.join(above, each) for each in sorted(same, key=lambda each: (each != name, each)))

    def _folders_alike(self, folder: str, form: Callable[[str], str]) -> Iterator[str]:
        yield folder
        if folder != self._top and is_within(folder, self._top):
            yield from (each for each in self._alike(folder, form) if each != folder)

    def _by_caseless(self, folder: str) -> Mapping[str, Sequence[str]]:
        found: dict[str, list[str]] = defaultdict(list)
        for name in self._names_in(folder):
            found[caseless(name)].append(name)
        return found


def other_case(location: str | None, root: str) -> str:
    """Say in brackets that a file is there whose name differs only in case; nothing if there is none."""
    return "" if location is None else f" (in other upper and lower case there is {path_within(location, root)})"


class FileLookup:
    """Finds files by what cells mean; the first object causes the listing of all that are wanted."""

    def __init__(self, files: Files, root: str, wanted: Callable[[], Iterable[str]], catalog: str) -> None:
        """Take the root, above which names are taken as they are, and what yields all locations of a named catalog."""
        self._files = files
        self._root = root
        self._catalog = catalog
        self._wanted = wanted
        self._names = NameLookup(files.names, root)

    def facts(self, location: str) -> FileFacts | Unlisted | None:
        """Return what is known of a file; CatalogError if objects cannot be listed, SourceError if it is this file."""
        if location.startswith("/"):
            return self._files.facts(location)
        if proof_id_of(location) is not None:
            return Unlisted.UNLISTED
        if not is_bucket(location):
            return None
        self._files.refuse_outside(location)
        return self._objects.facts(location)

    def found(self, spellings: Sequence[str]) -> str | None:
        """Return the location that a cell means, whether a file is there or not; None if it has no spelling.

        The first spelling with a file counts, then the first with a file whose name has another form of Unicode.
        """
        if len(spellings) > 1 or not "".join(spellings).isascii():
            others = (self._instead_of(each, composed) for each in spellings)
            there = next((each for each in spellings if self._is_there(each)), None)
            if (found := there or next(filter(None, others), None)) is not None:
                return found
        return spellings[0] if spellings else None

    def hint(self, spellings: Sequence[str]) -> str:
        """Name in brackets a file whose name differs only in case from a missing one's; empty if none is there."""
        return next((hint for each in spellings if (hint := other_case(self._instead_of(each), self._root))), "")

    def _instead_of(self, location: str, form: Callable[[str], str] = caseless) -> str | None:
        if not is_bucket(location):
            return self._names.found(location, form)
        real = self._objects.instead_of(location)
        return real if real is None or form(real) == form(location) else None

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

    def _inside(self) -> Iterable[str]:
        """Yield the bucket URLs that are wanted, except those outside the root, of which nothing is asked."""
        for location in filter(is_bucket, self._wanted()):
            with suppress(SourceError):
                self._files.refuse_outside(location)
                yield location


class ObjectLookup:
    """The facts of many objects, and of those whose keys differ from wanted ones only in form or case.

    They are on local disk, since there may be millions.
    """

    def __init__(self, locations: Iterable[str], files: "BucketFiles") -> None:
        """List the prefixes in which the locations lie; SourceError if a bucket can neither be listed nor read."""
        self._files = files
        self._missing_buckets: set[str] = set()
        self._listed: list[str] = []  # prefixes that were listed to their end
        self._table = sqlite3.connect("", check_same_thread=False)  # an unnamed file, deleted when closed
        self._table.executescript(_TABLES)
        for root, key in map(root_and_key, locations):
            with suppress(UnicodeEncodeError):  # a bucket holds only UTF-8 keys
                self._table.execute(_WANT, (root, caseless(key), key))
        for (root,) in self._table.execute("SELECT DISTINCT root FROM wanted").fetchall():
            [(rows,)] = self._table.execute("SELECT count(*) FROM wanted WHERE root = ?", (root,))
            keys = (key for (key,) in self._table.execute("SELECT key FROM wanted WHERE root = ?", (root,)))
            for prefix in prefixes_of(map(_certain_folder, keys), MOST_LISTINGS):
                self._list(root, prefix, _SPARE_KEYS + _KEYS_PER_ROW * rows)

    def facts(self, location: str) -> FileFacts | Unlisted | None:
        """Return an object's facts; None if a complete listing does not hold it, UNLISTED if there is no such listing.

        SourceError: `missing_audio` if there is no such bucket, `unreadable_file` if no such key can be requested.
        """
        from proofsweep.sources.bucket import refuse_bad_key  # noqa: PLC0415 - only for buckets

        root, key = root_and_key(location)
        refuse_bad_key(key)
        if root in self._missing_buckets:
            raise SourceError(f"There is no bucket {one_line(root)}.", reason=Reason.MISSING_AUDIO)
        with suppress(UnicodeEncodeError):
            if found := self._table.execute(_FACTS, (root, caseless(key), key)).fetchone():
                return FileFacts(*found)
            if not any(is_within(location, prefix) for prefix in self._listed):
                return Unlisted.UNLISTED
        return None

    def instead_of(self, location: str) -> str | None:
        """Return the URL of an object whose key differs from a missing one's only in form or case, form first."""
        root, key = root_and_key(location)
        with suppress(UnicodeEncodeError):
            alike = [each for (each,) in self._table.execute(_ALIKE, (root, caseless(key), key))]
            alike.sort(key=lambda each: composed(each) != composed(key))
            return f"{root}/{alike[0]}" if alike else None
        return None

    def _list(self, root: str, prefix: str, most_keys: int) -> None:
        from proofsweep.config.buckets import FailureKind, failure_of  # noqa: PLC0415 - as above

        bad: set[str] = set()
        location = f"{root}/{prefix}".rstrip("/")
        try:
            listed = self._files.listed(location, bad=bad)
            for key, facts in islice(listed, most_keys):
                row = (root, caseless(key), key, facts.size_bytes, facts.version, facts.modified)
                self._table.execute(_KEEP, row)
            if not bad and next(listed, None) is None:  # else what is not listed may be there
                self._listed.append(location)
        except SourceError as error:
            if isinstance(error.__cause__, Exception) and failure_of(error.__cause__).kind is FailureKind.NO_BUCKET:
                self._missing_buckets.add(root)
            elif error.reason == Reason.SOURCE_FORBIDDEN:
                [(key,)] = self._table.execute("SELECT max(key) FROM wanted WHERE root = ?", (root,))
                self._must_be_readable(f"{root}/{key}")
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
