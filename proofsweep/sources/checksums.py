"""Read lists of checksums and bags (RFC 8493), and hold them against the rows of a catalog."""

import os
import posixpath
import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final, NamedTuple

from proofsweep.config.locations import is_windows, is_within, one_line, path_of
from proofsweep.domain.errors import CatalogError, SourceError
from proofsweep.domain.items import ALGORITHMS, Declared, ManifestRow, algorithm_named, hex_digest, raw_bytes
from proofsweep.domain.reasons import Ineligible, Reason
from proofsweep.sources.catalog import CatalogBase, Ignored
from proofsweep.sources.files import Files
from proofsweep.sources.names import Cause, composed
from proofsweep.sources.readers import encoding_of, text_of
from proofsweep.sources.source import OpenFile, buffered

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

_BY_LENGTH: Final = {32: "md5", 40: "sha1", 56: "sha224", 64: "sha256", 96: "sha384", 128: "sha512"}
_LIST_NAME = re.compile(r"(?:(md5|sha\d+)[-_]?sums?|checksums?)(?:\.txt)?|manifest-(\w+)\.txt", re.IGNORECASE)
# Names of lists whose digests have the length of another algorithm's.
_OTHER_ALGORITHM = re.compile(r"b2|b3|blake|sha-?3(?!84)|md[24]|rmd|ripemd|whirlpool|tiger|xxh|sm3", re.IGNORECASE)
_COMMENTS = ("#", ";", "//")
# algorithm (path) = digest, as BSD, `md5sum --tag` and OpenSSL write it.
_TAGGED = re.compile(r"(\\?)([A-Za-z][\w./-]{0,20}) ?\(")
_TAGGED_ENDS = (") = ", ")= ", ")=")
# digest, two separators of which the second may be a mode, path: as md5sum and shasum write it; others write a tab.
_PLAIN = re.compile(r"(\\?)([0-9A-Fa-f]{8,}|[A-Za-z0-9+/_-]{20,}={0,2})(?: [ *?^]|[ \t]+)(.+)")
_BARE = re.compile(r"()([0-9A-Fa-f]{8,})()\s*")
_ESCAPES: Final = {r"\\": "\\", r"\n": "\n", r"\r": "\r"}

_BAG_MARK = "bagit.txt"  # the file that makes a folder a bag
_PAYLOAD = "data/"
_BAG_MANIFEST = re.compile(r"manifest-\w+\.txt", re.IGNORECASE)
_BAG_ESCAPE = re.compile(r"%(0A|0D|25)", re.IGNORECASE)

# Half a million files of 200 letters each: a larger file is no list.
MOST_BYTES = 128 * 1024 * 1024

_Cells = tuple[bytes, str, str, bool, bytes | None]


class ChecksumLine(NamedTuple):
    algorithm: str
    digest: str  # in lower-case hex
    path: str  # as written, without escapes; empty if the line names none


class Checksums:
    """The lists of one reading of a catalog; what cannot be compared is counted in `ignored`, and is no damage."""

    def __init__(self, base: CatalogBase, source: Files, ignored: Ignored) -> None:
        self.unfinished: set[str] = set()  # locations of files beside those of `read_beside` that are still written
        self._base = base
        self._source = source
        self._ignored = ignored
        self._table: sqlite3.Connection | None = None  # digests by file; in composed Unicode, since archives change it
        self._has_bags = False
        self._looked_into: set[str] = set()

    def close(self) -> None:
        if self._table is not None:
            [(contradicted,)] = self._table.execute(_CONTRADICTED)
            self._ignored[Cause.UNUSED_CHECKSUMS] += contradicted
            self._table.close()
            self._table = None

    def read_named(self, lists: Sequence[str], source: Files) -> None:
        """Read the lists that a person names, wherever they lie; CatalogError if one has no checksum of ours."""
        for location in lists:
            folder = posixpath.dirname(location)
            folder = folder if is_within(folder, self._base.root) else self._base.root
            found = self._lines(location, source, algorithm_of_list(location))
            if not self._add(self._in_list(found, folder, is_named=True)):
                raise CatalogError(f"{one_line(location)}: all of its paths lead out of the catalog's root")

    def read_folder(self, folder: str, lists: Sequence[str], names: Sequence[str]) -> None:
        """Read the lists in a folder, of which `names` are all files; one that cannot be read is counted."""
        known = frozenset(names if lists else ())
        for name in lists:
            found = self._lines(posixpath.join(folder, name), self._source, algorithm_of_list(name))
            if _BAG_MARK in known and _BAG_MANIFEST.fullmatch(name):
                self._has_bags = True
                self._read_found(self._in_bag(found, folder))
            else:
                checked = posixpath.splitext(name)[0] if _suffix_algorithm(name) else None
                self._read_found(self._in_list(found, folder, checked=checked if checked in known else None))
        if self._has_bags:
            self._note_seen(self._base.named(posixpath.join(folder, name)) for name in names)

    def read_beside(self, audio: str) -> None:
        """Read the lists in a file's folder, and in those above it, each once.

        In buckets, where looking is a listing, no list is searched.
        """
        folder = posixpath.dirname(audio)
        if folder in self._looked_into or not folder.startswith("/"):
            return
        self._looked_into.add(folder)
        if folder != self._base.root and is_within(folder, self._base.root):
            self.read_beside(folder)
        found = next(self._source.walk(folder))
        self.unfinished |= {posixpath.join(folder, name) for name in found.unfinished}
        self.read_folder(folder, list(filter(is_list_name, found.files)), found.files)

    def with_declared(self, row: ManifestRow) -> ManifestRow:
        """Return a row with what the lists declare of its audio, beside what it has already."""
        if self._table is None or not row.audio:
            return row
        if row.release is not None and row.audio_facts is None:  # its message says that it is missing
            self._note_seen([row.named_audio])
        digests = dict(self._table.execute(_FIND, (_key(row.named_audio),)))
        if not digests:
            return row
        return replace(row, declared=(row.declared or Declared()).with_others(Declared(digests=digests)))

    def missing(self) -> Iterator[tuple[str, Ineligible]]:
        """Yield the location of each payload file that is not there, and why its row cannot be sent."""
        for file, bag in () if self._table is None else self._table.execute(_MISSING):
            named, shown = os.fsdecode(file), one_line(os.fsdecode(bag))
            detail = f"The manifest of the bag {shown} names this file, and it was not delivered."
            yield posixpath.join(self._base.root, named), Ineligible(Reason.MISSING_AUDIO, detail)

    def _note_seen(self, names: Iterable[str]) -> None:
        if self._table is not None:
            with self._table:
                self._table.executemany(_SEEN, ((_key(each),) for each in names))

    def _lines(self, location: str, source: Files, usual: str | None) -> Iterator[ChecksumLine]:
        has_any = False
        for line in lines_of_list(location, source):
            if (found := line_of(line, usual)) is not None:
                has_any = True
                yield found
            elif line.strip() and not line.startswith(_COMMENTS):
                self._ignored[Cause.UNUSED_CHECKSUMS] += 1
        if not has_any:
            raise CatalogError(f"{one_line(location)}: there is no checksum in it that can be compared")

    def _in_bag(self, found: Iterable[ChecksumLine], folder: str) -> Iterator[_Cells]:
        bag = raw_bytes(self._base.named(folder))
        for each in found:
            path = path_in_bag(each.path)
            self._ignored[Cause.UNUSED_CHECKSUMS] += path is None
            if path is not None:
                yield _key(self._base.named(posixpath.join(folder, path))), each.algorithm, each.digest, False, bag

    def _in_list(
        self, found: Iterable[ChecksumLine], folder: str, *, checked: str | None = None, is_named: bool = False
    ) -> Iterator[_Cells]:
        """Yield what a list says; `checked` is the one file that `song.wav.md5` is the checksum of."""
        for each in found:
            names = self._named_by(each.path, folder, checked, is_named=is_named)
            self._ignored[Cause.UNUSED_CHECKSUMS] += not names
            yield from ((_key(named), each.algorithm, each.digest, is_named, None) for named in names)

    def _named_by(self, written: str, folder: str, checked: str | None, *, is_named: bool) -> list[str]:
        forward = written.replace("\\", "/")
        if checked is not None and posixpath.basename(forward) in {"", checked}:
            return [self._base.named(posixpath.join(folder, checked))]
        found = (self._named(path, folder, is_named=is_named) for path in dict.fromkeys((written, forward)))
        return [named for named in found if named is not None]

    def _named(self, path: str, folder: str, *, is_named: bool) -> str | None:
        """Return a path as seen from the root; a list that was found names no file above its own folder."""
        leads_up = posixpath.normpath(path).startswith("..") and not is_named
        if not path or leads_up or is_windows(path):
            return None
        with suppress(CatalogError):
            named = self._base.named(path_of(path, folder))
            is_outside = named.startswith("/") or "://" in named
            return None if is_outside and self._base.boundary is not None else named
        return None

    def _read_found(self, found: Iterable[_Cells]) -> None:
        """Take a list that was found; one that cannot be read, or holds no checksum, is counted."""
        cause = Cause.UNREADABLE_LISTS
        with suppress(CatalogError):
            self._add(found)
            cause = Cause.CHECKSUM_LISTS
        self._ignored[cause] += 1

    def _add(self, found: Iterable[_Cells]) -> int:
        """Take what a list says, all of it or nothing if it cannot be read to its end; return how many digests."""
        if self._table is None:
            self._table = sqlite3.connect("", check_same_thread=False)  # an unnamed file, deleted when closed
            self._table.execute(_TABLE)
        with self._table:
            return self._table.executemany(_ADD, found).rowcount


def _key(named: str) -> bytes:
    return raw_bytes(composed(named))


def is_list_name(name: str) -> bool:
    found = _LIST_NAME.fullmatch(name)
    written = None if found is None else found[1] or found[2]
    is_known = found is not None and (written is None or algorithm_named(written) is not None)
    return is_known or _suffix_algorithm(name) is not None


def algorithm_of_list(path: str) -> str | None:
    """Return the algorithm that the name of a list says; empty for one that is not compared, None if it says none."""
    name = posixpath.basename(path)
    found = _LIST_NAME.fullmatch(name)
    algorithm = _suffix_algorithm(name) or (algorithm_named(found[1] or found[2] or "") if found else None)
    return algorithm or ("" if _OTHER_ALGORITHM.search(name) else None)


def _suffix_algorithm(name: str) -> str | None:
    suffix = posixpath.splitext(name)[1][1:].lower()
    return suffix if suffix in ALGORITHMS else None


def line_of(line: str, usual: str | None) -> ChecksumLine | None:
    """Read a line of a list, whose name says the `usual` algorithm as `algorithm_of_list` gives it.

    None if nothing can be compared with it: the algorithm is not known, the digest is none of its algorithm, or it is
    no line of a list at all.
    """
    tagged = _tagged(line)
    if tagged is not None:
        escaped, name, path, written = tagged
        algorithm = algorithm_named(name)
    elif (plain := _PLAIN.fullmatch(line) or _BARE.fullmatch(line)) is not None:
        escaped, written, path = plain.groups()
        algorithm = _BY_LENGTH.get(len(written)) if usual is None else usual
    else:
        return None
    digest = hex_digest(algorithm, written) if algorithm else None
    if not algorithm or digest is None:
        return None
    path = re.sub(r"\\[\\nr]", lambda found: _ESCAPES[found[0]], path) if escaped else path
    return ChecksumLine(algorithm, digest, path)


def _tagged(line: str) -> tuple[str, str, str, str] | None:
    begun = _TAGGED.match(line)
    if begun is None:
        return None
    for end in _TAGGED_ENDS:
        path, found, written = line[begun.end() :].rpartition(end)
        if found and path and written.strip() and " " not in written.strip():
            return begun[1], begun[2], path, written
    return None


def path_in_bag(written: str) -> str | None:
    """Return the path of a file of the payload, or None; line ends and `%` are escaped (RFC 8493, 2.1.3)."""
    path = _BAG_ESCAPE.sub(lambda found: chr(int(found[1], 16)), written.removeprefix("./"))
    return path if path.startswith(_PAYLOAD) and {"", ".", ".."}.isdisjoint(path.split("/")) else None


def lines_of_list(location: str, source: Files) -> Iterator[str]:
    """Yield the lines of a list without their ends; CatalogError, of one line, may come after many of them."""
    try:
        yield from _lines_of(source.open(location))
    except (SourceError, OSError, ValueError) as error:
        because = error.message if isinstance(error, SourceError) else f"It is no text: {one_line(str(error))}."
        raise CatalogError(f"{one_line(location)}: cannot be read as a list of checksums. {because}") from error


def _lines_of(file: OpenFile | None) -> Iterator[str]:
    if file is None:
        raise SourceError("There is no such file.", reason=Reason.UNREADABLE_FILE)
    with buffered(file) as plain:
        before = file.facts()
        if before.size_bytes > MOST_BYTES:
            raise SourceError(f"It has more than {MOST_BYTES:,} bytes.", reason=Reason.UNREADABLE_FILE)
        text = text_of(plain, encoding_of(plain), newline="\n")  # closes the file with itself
        for line in text:
            yield line.rstrip("\r\n")
        if file.facts() != before:
            raise SourceError("It changed while it was read: let its delivery finish.", reason=Reason.SOURCE_CHANGED)
