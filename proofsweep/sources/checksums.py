"""Read lists of checksums and bags (RFC 8493), and hold them against the rows of a catalog."""

import os
import posixpath
import re
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from io import BytesIO, TextIOWrapper
from typing import Final, NamedTuple

from proofsweep.config.locations import is_windows, is_within, one_line, path_of
from proofsweep.domain.errors import CatalogError, SourceError
from proofsweep.domain.items import ALGORITHMS, Declared, ManifestRow, algorithm_named, hex_digest, raw_bytes
from proofsweep.domain.reasons import Ineligible, Reason
from proofsweep.sources.catalog import CatalogBase, Cause, Ignored
from proofsweep.sources.names import composed
from proofsweep.sources.readers import encoding_of
from proofsweep.sources.source import OpenFile, Source, buffered

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


@dataclass(frozen=True, slots=True)
class ChecksumLine:
    algorithm: str
    digest: str  # in lower-case hex
    path: str  # as written, without escapes; empty if the line names none


def is_list_name(name: str) -> bool:
    if _suffix_algorithm(name) is not None:
        return True
    found = _LIST_NAME.fullmatch(name)
    written = None if found is None else found[1] or found[2]
    return found is not None and (written is None or algorithm_named(written) is not None)


def algorithm_of_list(path: str) -> str | None:
    """Return the algorithm that the name of a list says; empty for one that is not compared, None if it says none."""
    name = posixpath.basename(path)
    found = _LIST_NAME.fullmatch(name)
    algorithm = _suffix_algorithm(name) or (algorithm_named(found[1] or found[2] or "") if found else None)
    return algorithm or ("" if _OTHER_ALGORITHM.search(name) else None)


def checked_name(name: str) -> str | None:
    """Return the name of the one file that a file such as `song.wav.md5` may be the checksum of."""
    return posixpath.splitext(name)[0] if _suffix_algorithm(name) else None


def is_blank(line: str) -> bool:
    return not line.strip() or line.startswith(_COMMENTS)


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


def _suffix_algorithm(name: str) -> str | None:
    suffix = posixpath.splitext(name)[1][1:].lower()
    return suffix if suffix in ALGORITHMS else None


MARK = "bagit.txt"
"""The file that makes a folder a bag."""

FETCH = "fetch.txt"
PAYLOAD = "data/"
_MANIFEST = re.compile(r"manifest-([\w-]+)\.txt", re.IGNORECASE)
_ESCAPE = re.compile(r"%(0A|0D|25)", re.IGNORECASE)


def payload_manifests(names: Collection[str]) -> dict[str, str | None]:
    """Return the payload manifests of a bag, each with its algorithm, or None if that is not compared."""
    found = map(_MANIFEST.fullmatch, names if MARK in names else ())
    return {each[0]: algorithm_named(each[1]) for each in found if each is not None}


def path_in_bag(written: str) -> str | None:
    """Return the path of a file of the payload, or None; line ends and `%` are escaped (RFC 8493, 2.1.3)."""
    path = _ESCAPE.sub(lambda found: chr(int(found[1], 16)), written.removeprefix("./"))
    parts = path.split("/")
    return path if path.startswith(PAYLOAD) and not {"", ".", ".."} & {*parts} else None


def fetched_path(line: str) -> str | None:
    """Return the path of a line of `fetch.txt`, which is an address, a size and a path; None if it is none."""
    parts = line.split(None, 2)
    return path_in_bag(parts[2]) if parts[2:] else None


# A million files of 200 letters each: a larger file is no list.
MOST_LINES = 1_000_000
MOST_BYTES = 256 * 1024 * 1024
# A path has at most 4,096 bytes on Linux, all of which may be escaped, and the longest digest 128.
MOST_LINE_LETTERS = 8_448
# So much of a list shows its encoding. Binary content of 256 MiB would take half a minute.
_JUDGED_BYTES = 4 * 1024 * 1024


def lines_of_list(location: str, source: Source) -> Iterator[str]:
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
            raise _too_large(f"{MOST_BYTES:,} bytes")
        judged = plain.read(_JUDGED_BYTES)
        encoding = encoding_of(BytesIO(judged[: judged.rfind(b"\n") + 1] or judged))  # not of half a letter at its end
        plain.seek(0)
        text = TextIOWrapper(plain, encoding.codec, encoding.errors, newline="\n")
        for number, line in enumerate(iter(partial(text.readline, MOST_LINE_LETTERS + 1), ""), start=1):
            if number > MOST_LINES:
                raise _too_large(f"{MOST_LINES:,} lines")
            if len(line) > MOST_LINE_LETTERS:
                raise _too_large(f"{MOST_LINE_LETTERS:,} letters in line {number:,}")
            yield line.rstrip("\r\n")
        if file.facts() != before:
            raise SourceError("It changed while it was read: let its delivery finish.", reason=Reason.SOURCE_CHANGED)


def _too_large(bound: str) -> SourceError:
    return SourceError(f"It has more than {bound}.", reason=Reason.UNREADABLE_FILE)


# A file whose first lines hold no checksum is no list. To read all lines of one takes ten seconds.
_LINES_IN_VAIN = 1_000


class Checksums:
    """The lists of one reading of a catalog; what cannot be compared is counted in `ignored`, and is no damage."""

    def __init__(self, base: CatalogBase, source: Source, ignored: Ignored) -> None:
        self._base = base
        self._source = source
        self._ignored = ignored
        self._files: DeclaredFiles | None = None
        self._payloads: list[str] = []
        self._fetched: set[str] = set()

    def close(self) -> None:
        if self._files is not None:
            self._ignored[Cause.UNUSED_CHECKSUMS] += self._files.contradictions()
            self._files.close()
            self._files = None

    def read_named(self, lists: Sequence[str], source: Source) -> None:
        """Read the lists that a person names, wherever they lie; CatalogError if one has no checksum of ours."""
        for location in lists:
            folder = posixpath.dirname(location)
            folder = folder if is_within(folder, self._base.root) else self._base.root
            found = self._lines(location, source, algorithm_of_list(location))
            if not self._add(self._in_list(found, folder, is_named=True)):
                raise CatalogError(f"{one_line(location)}: all of its paths lead out of the catalog's root")

    def read_folder(self, folder: str, lists: Sequence[str], names: Sequence[str]) -> None:
        """Read the lists in a folder, of which `names` are all files; one that cannot be read is counted."""
        manifests = payload_manifests(names)
        if manifests:
            self._begin_bag(folder, manifests, has_fetch=FETCH in names)
        known = frozenset(names if lists else ())
        for name in lists:
            if name not in manifests:
                alone = checked if (checked := checked_name(name)) in known else None
                found = self._lines(posixpath.join(folder, name), self._source, algorithm_of_list(name))
                self._read_found(self._in_list(found, folder, checked=alone))
        if self._payloads and self._files is not None:
            self._files.note_seen(self._base.named(posixpath.join(folder, name)) for name in names)

    def with_declared(self, row: ManifestRow) -> ManifestRow:
        """Return a row with what the lists declare of its audio, beside what it has already."""
        if self._files is None or not row.audio:
            return row
        if row.release is not None and row.audio_facts is None:  # its message says that it is missing
            self._files.note_seen([row.named_audio])
        digests = self._files.digests_of(row.named_audio)
        if not digests:
            self._ignored[Cause.NOT_IN_BAG] += row.named_audio.startswith(tuple(self._payloads))
            return row
        return replace(row, declared=(row.declared or Declared()).with_others(Declared(digests=digests)))

    def missing(self) -> Iterator[tuple[str, Ineligible]]:
        """Yield the location of each payload file that is not there, and why its row cannot be sent."""
        for named, bag in () if self._files is None else self._files.missing():
            detail = f"The manifest of the bag {one_line(bag)} names this file, and it was not delivered."
            if named in self._fetched:
                detail += f" Its {FETCH} leaves it at an address, which is never asked: the bag is incomplete."
            yield posixpath.join(self._base.root, named), Ineligible(Reason.MISSING_AUDIO, detail)

    def _begin_bag(self, folder: str, manifests: Mapping[str, str | None], *, has_fetch: bool) -> None:
        self._payloads.append(self._base.named(posixpath.join(folder, PAYLOAD, "x"))[:-1])
        for name, algorithm in sorted(manifests.items()):
            found = self._lines(posixpath.join(folder, name), self._source, algorithm or "")
            self._read_found(self._in_bag(found, folder))
        if has_fetch:
            with suppress(CatalogError):
                lines = lines_of_list(posixpath.join(folder, FETCH), self._source)
                paths = filter(None, map(fetched_path, lines))
                self._fetched |= {self._base.named(posixpath.join(folder, path)) for path in paths}

    def _lines(self, location: str, source: Source, usual: str | None) -> Iterator[ChecksumLine]:
        unused, has_any = 0, False
        for line in lines_of_list(location, source):
            if (found := line_of(line, usual)) is not None:
                has_any = True
                yield found
            elif not is_blank(line):
                unused += 1
                self._ignored[Cause.UNUSED_CHECKSUMS] += 1
            if unused > _LINES_IN_VAIN and not has_any:
                break
        if not has_any:
            raise CatalogError(f"{one_line(location)}: there is no checksum in it that can be compared")

    def _in_bag(self, found: Iterable[ChecksumLine], folder: str) -> Iterator[DeclaredFile]:
        bag = self._base.named(folder)
        for each in found:
            path = path_in_bag(each.path)
            self._ignored[Cause.UNUSED_CHECKSUMS] += path is None
            if path is not None:
                yield DeclaredFile(self._base.named(posixpath.join(folder, path)), each.algorithm, each.digest, bag=bag)

    def _in_list(
        self, found: Iterable[ChecksumLine], folder: str, *, checked: str | None = None, is_named: bool = False
    ) -> Iterator[DeclaredFile]:
        """Yield what a list says; `checked` is the one file that `song.wav.md5` is the checksum of."""
        for each in found:
            names = self._named_by(each.path, folder, checked, is_named=is_named)
            self._ignored[Cause.UNUSED_CHECKSUMS] += not names
            yield from (DeclaredFile(named, each.algorithm, each.digest, is_named) for named in names)

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

    def _read_found(self, found: Iterable[DeclaredFile]) -> None:
        """Take a list that was found; one that cannot be read, or holds no checksum, is counted."""
        cause = Cause.UNREADABLE_LISTS
        with suppress(CatalogError):
            self._add(found)
            cause = Cause.CHECKSUM_LISTS
        self._ignored[cause] += 1

    def _add(self, found: Iterable[DeclaredFile]) -> int:
        self._files = self._files or DeclaredFiles()
        return self._files.add(found)


class ListsBeside:
    """Looks into each folder of this machine once. In buckets, where looking is a listing, no list is searched."""

    def __init__(self, checksums: Checksums, source: Source, root: str) -> None:
        self._checksums = checksums
        self._source = source
        self._root = root
        self._read: set[str] = set()
        self.unfinished: set[str] = set()  # locations of files in these folders that are still written

    def read_for(self, audio: str) -> None:
        """Read the lists of a file, those above it first, unless they were read for another one."""
        folder = posixpath.dirname(audio)
        if folder in self._read or not folder.startswith("/"):
            return
        self._read.add(folder)
        if folder != self._root and is_within(folder, self._root):
            self.read_for(folder)
        found = next(self._source.walk(folder))
        self.unfinished |= {posixpath.join(folder, name) for name in found.unfinished}
        self._checksums.read_folder(folder, [name for name in found.files if is_list_name(name)], found.files)
