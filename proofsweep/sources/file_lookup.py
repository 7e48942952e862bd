"""Where the cells of a manifest lead, and what is known of the files there.

Files of this machine are looked at one by one, their names part by part in folders; objects in listings, since one
request for each of a million objects would take hours.
"""

import os
import posixpath
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any
from unicodedata import normalize

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

_GUESSES = 20  # rows whose files are looked for below the root before no more is guessed about the paths of one drive
_FOLDERS_KEPT = 64  # whose names are kept
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
_LAST_KEY = "\U0010ffff"


class CellLocations:
    r"""The locations that cells name, also of another machine, such as `D:\Musik\song.wav`."""

    def __init__(self, base: CatalogBase, path_maps: Iterable[tuple[str, str]]) -> None:
        self._base = base
        self._maps = PathMaps(path_maps)
        self._found_maps: dict[str, str] = {}  # by drive, the map under which a file of it is there
        self._tried = Counter[str]()

    def located(self, cell: str | None, folder: str, guess: str | None) -> tuple[Sequence[str], str | None]:
        """Return the locations that a cell may name, the likeliest first; if it names none, what may be shown of it.

        The second value is what is wrong then. A path of Windows comes first as it is written, and not joined to a
        folder of ours. A cell may be meant otherwise than written, also in the bytes of a `guess` at the encoding.
        """
        if cell is None:
            return (), None
        written = self._maps.mapped(cell)
        location, wrong = self._as_written(written, folder)
        if wrong is not None:
            return (location,), wrong
        locations = [written, location] if is_windows(written) else [location]
        if "\\" in written:
            locations += self._otherwise(_forward(written), folder)
        if guess is not None and not written.isascii():
            locations += self._otherwise(os.fsdecode(written.encode(guess, "replace")), folder)
        return locations, None

    def hint(self, cell: str) -> str:
        """Return what may be wrong with a cell at whose location nothing is, in brackets; empty if it looks right."""
        written = self._maps.mapped(cell)
        if not is_windows(written):
            return hint_for(written)
        parts = _forward(written).split("/")
        head = 4 if written.startswith("\\\\") else 1  # a server and its share, or a drive
        drive, root = _backward(parts[:head]), self._base.root
        if drive not in self._found_maps and self._tried[drive] < _GUESSES and not is_bucket(root):
            self._tried[drive] += 1
            below = (at for at in range(head, len(parts)) if posixpath.isfile(posixpath.join(root, *parts[at:])))
            if (at := next(below, None)) is not None:
                self._found_maps[drive] = f"{_backward(parts[:at])}={root}"
        given = self._found_maps.get(drive) or f"{_backward(parts[: min(head + 1, len(parts) - 1)])}=FOLDER"
        return f" (this looks like a Windows path: give --path-map '{one_line(given)}')"

    def _as_written(self, cell: str, folder: str) -> tuple[str, str | None]:
        proof_id = proof_id_of(cell)
        if proof_id is not None:
            is_one = proof_id.strip() and proof_id not in NO_PROOF_IDS and utf8_text(proof_id) == proof_id
            return cell, None if is_one else "this is no proof ID."
        try:
            return self._base.without_dots(path_of(cell, folder)), None
        except CatalogError as error:
            return without_secrets(cell), error.message

    def _otherwise(self, meant: str, folder: str) -> list[str]:
        location, wrong = self._as_written(meant, folder)
        return [location] if wrong is None else []


class PathMaps:
    """Beginnings of written locations, and the folders that they stand for; the longest beginning counts.

    They are compared part by part without regard to case, to the form of Unicode and to the slash.
    """

    def __init__(self, maps: Iterable[tuple[str, str]]) -> None:
        cut = ((caseless(_forward(written).rstrip("/")).split("/"), folder) for written, folder in maps)
        self._maps = sorted(cut, key=lambda each: -len(each[0]))

    def mapped(self, written: str) -> str:
        """Return where a written location leads; as it is if no beginning fits."""
        if not self._maps:
            return written
        parts = (written if written.startswith("/") else _forward(written)).split("/")  # POSIX names may hold one
        for beginning, folder in self._maps:
            if [*map(caseless, parts[: len(beginning)])] == beginning:
                rest = "/".join(parts[len(beginning) :]).lstrip("/")
                return posixpath.join(folder, rest) if rest else folder
        return written


def _forward(written: str) -> str:
    return written.replace("\\", "/")


def _backward(parts: Sequence[str]) -> str:
    return "\\".join(parts)


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
            return ObjectLookup(self._inside(), self._files.buckets, self._root)
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
    """The facts of many objects, on local disk, since there may be millions."""

    def __init__(self, locations: Iterable[str], files: "BucketFiles", top: str = "") -> None:
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

        SourceError: `missing_audio` if there is no such bucket, `unreadable_file` if no such key can be requested.
        """
        from proofsweep.sources.bucket import refuse_bad_key  # noqa: PLC0415 - only for buckets

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
        from proofsweep.config.buckets import FailureKind, failure_of  # noqa: PLC0415 - as above

        start = f"{prefix}/" if prefix else ""
        first, last, rows = self._table.execute(_RANGE, (root, start, start + _LAST_KEY)).fetchone()
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
            self._table.execute(_COVER, (root, start, end or start + _LAST_KEY))

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
        is_sorted, before = True, ""
        for number, (key, facts) in enumerate(listed):
            is_sorted = is_sorted and before <= key
            before = key
            if is_sorted and key > last:
                return None
            if number >= most_keys:
                return key if is_sorted else None
            self._table.execute(update, (facts.size_bytes, facts.version, facts.modified, key, root))
        return None


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


def _forms(key: str, prefix: str) -> list[str]:
    """Return the key in forms between which lie all others that it may have below a prefix."""
    above, rest = key[: len(prefix)], key[len(prefix) :]
    forms = (normalize(form, rest) for form in ("NFC", "NFD"))
    return [above + each for form in forms for each in (form, form.lower(), form.upper())]


def _before(key: str) -> str | None:
    return key[:-1].rstrip("/.") or None
