"""Read lists of checksums, those of bags too, and hold them against the rows of a catalog."""

import posixpath
import re
import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final, NamedTuple
from urllib.parse import unquote

from proofsweep.config.locations import is_within, one_line
from proofsweep.domain.errors import CatalogError, SourceError
from proofsweep.domain.items import Declared, ManifestRow, algorithm_named, hex_digest, raw_bytes
from proofsweep.domain.reasons import Reason
from proofsweep.sources.catalog import CatalogBase
from proofsweep.sources.files import Files, below
from proofsweep.sources.names import Cause, composed
from proofsweep.sources.readers import encoding_of, text_of
from proofsweep.sources.source import OpenFile, buffered

_TABLE = "CREATE TABLE declared (file BLOB, algorithm TEXT, digest TEXT, PRIMARY KEY (file, algorithm)) WITHOUT ROWID"
# The list that was read first counts: those that a person names, then those of the upper folders.
_ADD = "INSERT OR IGNORE INTO declared VALUES (?, ?, ?)"
_FIND = "SELECT algorithm, digest FROM declared WHERE file = ?"

_BY_LENGTH: Final = {32: "md5", 40: "sha1", 56: "sha224", 64: "sha256", 96: "sha384", 128: "sha512"}
_BAG_NAME = re.compile(r"manifest-(\w+)\.txt", re.IGNORECASE)
_LIST_NAME = re.compile(rf"(?:(md5|sha\d+)[-_]?sums?|checksums?)(?:\.txt)?|{_BAG_NAME.pattern}", re.IGNORECASE)
_ESCAPE = re.compile("%(?:25|0A|0D)", re.IGNORECASE)  # those that a bag's paths have (RFC 8493)
_COMMENTS = ("#", ";", "//")
# algorithm (path) = digest, as BSD, `md5sum --tag` and OpenSSL write it.
_TAGGED = re.compile(r"([A-Za-z][\w/-]{0,20}) ?\((.+)\) ?= ?([0-9A-Fa-f]+)\s*")
# digest, and its path, as md5sum and shasum write it; others write a tab, and some the digest alone.
_PLAIN = re.compile(r"([0-9A-Fa-f]{32,})(?:(?: [ *]|[ \t]+)(.+)|\s*)")

# Half a million files of 200 letters each: a larger file is no list.
MOST_BYTES = 128 * 1024 * 1024


class ChecksumLine(NamedTuple):
    algorithm: str
    digest: str  # in lower-case hex
    path: str  # as written; empty if the line names none


class Checksums:
    """The lists of one reading of a catalog; what cannot be compared is counted in `ignored`, and is no damage."""

    def __init__(self, base: CatalogBase, source: Files, ignored: Counter[Cause]) -> None:
        self._base = base
        self._source = source
        self._ignored = ignored
        self._looked_into: set[str] = set()
        self._table = sqlite3.connect("", check_same_thread=False)  # an unnamed file, deleted when closed
        self._table.execute(_TABLE)
        self._has_any = False  # most catalogs have no list, and need not ask for each row

    def close(self) -> None:
        self._table.close()

    def read_named(self, lists: Sequence[str]) -> None:
        """Read the lists that a person names, wherever they lie; CatalogError if one has no checksum of ours."""
        source = self._source.within(None)
        for location in lists:
            folder = posixpath.dirname(location)
            folder = folder if is_within(folder, self._base.root) else self._base.root
            self._read(location, source, folder, self._base.boundary)

    def read_folder(self, folder: str, lists: Sequence[str], names: Sequence[str]) -> None:
        """Read the lists in a folder, of which `names` are all files; one that cannot be read is counted as unused.

        Nobody's list speaks of files outside of its own folder.
        """
        known = frozenset(names if lists else ())
        for name in lists:
            checked = posixpath.splitext(name)[0]
            location = posixpath.join(folder, name)
            try:
                self._read(location, self._source, folder, folder, checked if checked in known else None)
                self._ignored[Cause.CHECKSUM_LISTS] += 1
            except CatalogError:
                self._ignored[Cause.UNUSED_CHECKSUMS] += 1

    def read_beside(self, audio: str) -> None:
        """Read the lists in a file's folder, and in those above it, each once.

        In buckets, where looking is a listing, no list is searched.
        """
        folders, folder = list[str](), posixpath.dirname(audio)
        while folder.startswith("/") and folder not in self._looked_into:
            self._looked_into.add(folder)
            folders.append(folder)
            if folder != self._base.root and is_within(folder, self._base.root):
                folder = posixpath.dirname(folder)
        for each in reversed(folders):
            with suppress(SourceError):
                names = sorted(self._source.in_folder(each))
                self.read_folder(each, list(filter(is_list_name, names)), names)

    def with_declared(self, row: ManifestRow) -> ManifestRow:
        """Return a row with what the lists declare of its audio, beside what it has already."""
        digests = dict(self._table.execute(_FIND, (_key(row.named_audio),))) if row.audio and self._has_any else {}
        if not digests:
            return row
        return replace(row, declared=(row.declared or Declared()).with_others(Declared(digests=digests)))

    def _read(self, location: str, source: Files, folder: str, within: str | None, checked: str | None = None) -> None:
        """Take what a list says of files `within`, or nothing if it cannot be read; CatalogError if it has no checksum.

        `checked` is the one file that it is of, such as `song.wav` of `song.wav.md5`.
        """
        name, has_any = posixpath.basename(location), False
        usual, is_of_bag = algorithm_of_list(name), _BAG_NAME.fullmatch(name) is not None
        with self._table:
            for line in lines_of_list(location, source):
                found = line_of(line, usual)
                if found is None:
                    self._ignored[Cause.UNUSED_CHECKSUMS] += bool(line.strip()) and not line.startswith(_COMMENTS)
                    continue
                has_any = self._has_any = True
                path = found.path.replace("\\", "/")
                path = _ESCAPE.sub(lambda escape: unquote(escape[0]), path) if is_of_bag else path
                path = checked if checked and posixpath.basename(path) in {"", checked} else path
                file = below(folder, path)
                if path and (within is None or is_within(file, within)):
                    self._table.execute(_ADD, (_key(self._base.named(file)), found.algorithm, found.digest))
                else:
                    self._ignored[Cause.UNUSED_CHECKSUMS] += 1
        if not has_any:
            raise CatalogError(f"{one_line(location)}: there is no checksum in it that can be compared")


def _key(named: str) -> bytes:
    return raw_bytes(composed(named))


def algorithm_of_list(name: str) -> str | None:
    """Return the algorithm that the name of a list says; empty if it says none, None if it is no list's name."""
    found = _LIST_NAME.fullmatch(name)
    written = posixpath.splitext(name)[1] if found is None else found[1] or found[2]
    return "" if written is None else algorithm_named(written)


def is_list_name(name: str) -> bool:
    return algorithm_of_list(name) is not None


def line_of(line: str, usual: str | None) -> ChecksumLine | None:
    """Read a line of a list, whose name says the `usual` algorithm; None if nothing can be compared with it.

    Then the algorithm is not known, the digest is none of its algorithm, or it is no line of a list at all.
    """
    if (tagged := _TAGGED.fullmatch(line)) is not None:
        name, path, written = tagged.groups()
        algorithm = algorithm_named(name)
    elif (plain := _PLAIN.fullmatch(line)) is not None:
        written, path = plain[1], plain[2] or ""
        algorithm = usual or _BY_LENGTH.get(len(written))
    else:
        return None
    digest = hex_digest(algorithm, written) if algorithm else None
    return None if algorithm is None or digest is None else ChecksumLine(algorithm, digest, path)


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
        if file.facts().size_bytes > MOST_BYTES:
            raise SourceError(f"It has more than {MOST_BYTES:,} bytes.", reason=Reason.UNREADABLE_FILE)
        for line in text_of(plain, encoding_of(plain), newline="\n"):  # closes the file with itself
            yield line.rstrip("\r\n")
