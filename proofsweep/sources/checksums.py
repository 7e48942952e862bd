"""Read lists of checksums, those of bags too, and hold them against the rows of a catalog."""

import codecs
import posixpath
import re
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Final, NamedTuple
from urllib.parse import unquote

from proofsweep.config.locations import is_within, one_line, split_location
from proofsweep.domain.errors import CatalogError, SourceError
from proofsweep.domain.items import Declared, ManifestRow, algorithm_named, hex_digest, raw_bytes
from proofsweep.domain.reasons import Reason
from proofsweep.files.files import Files, below
from proofsweep.files.folder_listing import Cause
from proofsweep.files.names import composed, is_audio_name
from proofsweep.files.open_file import OpenFile, buffered
from proofsweep.sources.catalog import CatalogBase
from proofsweep.sources.file_lookup import names_in
from proofsweep.sources.readers import encoding_of, text_of
from proofsweep.sources.spelling import Match, Spellings, loose

# Each spelling of each line's path; `number` counts the lines of all lists. The list that was read first counts: those
# that a person names, then those of the upper folders.
_TABLE = """
    CREATE TABLE declared (form BLOB, number INTEGER, named BLOB, algorithm TEXT, digest TEXT,
        PRIMARY KEY (form, number)) WITHOUT ROWID;
    CREATE TABLE line (number INTEGER PRIMARY KEY, list INTEGER, location BLOB, other BLOB);
"""
_ADD = "INSERT OR IGNORE INTO declared VALUES (?, ?, ?, ?, ?)"
_ADD_LINE = "INSERT INTO line VALUES (?, ?, ?, ?)"
_FIND = "SELECT number, named, algorithm, digest FROM declared WHERE form = ? ORDER BY number"
_LINE = "SELECT list, location, other FROM line WHERE number = ?"

_BY_LENGTH: Final = {32: "md5", 40: "sha1", 56: "sha224", 64: "sha256", 96: "sha384", 128: "sha512"}
_BAG_NAME = re.compile(r"manifest-(\w+)\.txt", re.IGNORECASE)
_LIST_NAME = re.compile(rf"(?:(md5|sha\d+)[-_]?sums?|checksums?)(?:\.txt)?|{_BAG_NAME.pattern}", re.IGNORECASE)
_ESCAPE = re.compile("%(?:25|0A|0D)", re.IGNORECASE)  # those that a bag's paths have (RFC 8493)
_BAG_DECLARATION = "bagit.txt"
_DECLARATION_BYTES = 64  # hold its first line
_OLD_BAG = re.compile(rb"\s*BagIt-Version:\s*0\.", re.IGNORECASE)  # before version 1.0, most tools escaped nothing
_COMMENTS = ("#", ";", "//")
# algorithm (path) = digest, as BSD, `md5sum --tag` and OpenSSL write it.
_TAGGED = re.compile(r"([A-Za-z][\w/-]{0,20}) ?\((.+)\) ?= ?([0-9A-Fa-f]+)\s*")
# digest, and its path, as md5sum and shasum write it; others write a tab, and some the digest alone.
_PLAIN = re.compile(r"([0-9A-Fa-f]{32,})(?:(?: [ *]|[ \t]+)(.+)|\s*)")

# Of a line that begins with a backslash, md5sum and its like have escaped these in the path.
_ESCAPED = re.compile(r"\\([\\nr])")
_ESCAPED_LETTERS = {"\\": "\\", "n": "\n", "r": "\r"}

_FOLDERS_KEPT = 256  # whose names are kept
# Half a million files of 200 letters each: a larger file is no list.
MOST_BYTES = 128 * 1024 * 1024


class ChecksumLine(NamedTuple):
    algorithm: str
    digest: str  # in lower-case hex
    path: str  # as written, without escapes; empty if the line names none
    is_escaped: bool = False  # then a backslash in the path is a letter of the name, and no slash


@dataclass(slots=True)
class ReadList:
    """A list that was read."""

    location: str
    top: str  # the folder in which its files lie
    is_of_bag: bool
    first_line: int  # the number of its first line
    end: int  # the number after its last one
    version: str = ""

    @property
    def told(self) -> str:
        return f"{posixpath.basename(self.location)} {self.version}"


class UnmetLine(NamedTuple):
    """A line that names a file that is not there."""

    location: str
    detail: str  # what names it, and what is there, in sentences


class Checksums:
    """The lists of one reading of a catalog; what cannot be compared is counted in `ignored`, and is no damage."""

    def __init__(self, base: CatalogBase, source: Files, ignored: Counter[Cause]) -> None:
        self._base = base
        self._source = source
        self._ignored = ignored
        self._looked_into: set[str] = set()
        self._table = sqlite3.connect("", check_same_thread=False)  # an unnamed file, deleted when closed
        self._table.executescript(_TABLE)
        self._lists: list[ReadList] = []
        self._met = bytearray()  # of each line, whether it is of a row
        self._names = lru_cache(_FOLDERS_KEPT)(partial(names_in, source))
        self._spellings = Spellings(self._names)

    @property
    def versions(self) -> set[str]:
        """Return the lists that were read, as rows have them in `judged_by`."""
        return {read.told for read in self._lists}

    def close(self) -> None:
        self._table.close()

    def read_named(self, lists: Sequence[str]) -> None:
        """Read the lists that a person names, wherever they lie; CatalogError if one has no checksum of ours."""
        source = self._source.within(None)
        for location in lists:
            folder = posixpath.dirname(location)
            if not is_within(folder, self._base.root):
                folder = self._base.root
            self._read(location, source, folder, self._base.boundary)

    def read_folder(self, folder: str, lists: Sequence[str], names: Sequence[str]) -> None:
        """Read the lists in a folder, of which `names` are all files; one that cannot be read is counted as unused.

        Nobody's list speaks of files outside of its own folder.
        """
        files = frozenset(names if lists else ())
        for name in lists:
            location = posixpath.join(folder, name)
            stem, _ = posixpath.splitext(name)
            checked = stem if stem in files else None
            try:
                self._read(location, self._source, folder, folder, checked)
                self._ignored[Cause.CHECKSUM_LISTS] += 1
            except CatalogError:
                self._ignored[Cause.UNUSED_CHECKSUMS] += 1

    def read_beside(self, audio: str) -> None:
        """Read the lists in a file's folder, and in those above it, each once.

        In buckets, where looking is a listing, no list is searched.
        """
        folder, _ = split_location(audio)
        if folder in self._looked_into:
            return
        folders = list[str]()
        while folder.startswith("/") and folder not in self._looked_into:
            self._looked_into.add(folder)
            folders.append(folder)
            if self._base.named(folder).startswith("/"):  # it is the root, or lies outside it
                break
            folder = posixpath.dirname(folder)
        # The list that was read first counts, and that is one of an upper folder.
        for folder in reversed(folders):
            with suppress(SourceError):
                names = sorted(self._source.in_folder(folder))
                lists = [name for name in names if is_list_name(name)]
                self.read_folder(folder, lists, names)

    def with_declared(self, row: ManifestRow) -> ManifestRow:
        """Return a row with what the lists declare of its audio, beside what it has already."""
        if not self._met or not row.audio:  # most catalogs have no list
            return row
        # The very name counts at once. Any other spelling counts only if no other file is meant by it.
        digests: dict[str, str] = {}
        lists: dict[str, None] = {}
        lines = self._table.execute(_FIND, (_form_of(row.named_audio),)).fetchall()
        for number, named, algorithm, digest in lines:
            if named == _key(row.named_audio) or self._meant_by(number) == row.named_audio:
                self._met[number] = True
                digests.setdefault(algorithm, digest)
                read = self._lists[self._list_of(number)]
                lists[read.told] = None
        if not digests:
            return row
        declared = row.declared or Declared()
        judged_by = ",".join(filter(None, (row.judged_by, *lists)))
        return replace(row, declared=declared.with_others(Declared(digests=digests)), judged_by=judged_by)

    def unmet(self) -> Iterator[UnmetLine]:
        """Yield each file that a list names and that is not there, once; call it after the last row."""
        yielded: set[bytes] = set()
        for read in self._lists:
            is_of_here = read.is_of_bag or any(self._met[read.first_line : read.end])
            for number in range(read.first_line, read.end):
                if self._met[number]:
                    continue
                match = self._match_of(number)
                if match.location is not None:
                    continue
                location = self._written_by(number)[0]
                # Of a list that was made in another folder, nothing is there, and nothing is missed.
                is_missed = is_of_here or self._has_files(posixpath.dirname(location))
                if not is_missed or not _may_be_audio(location, read):
                    self._ignored[Cause.UNUSED_CHECKSUMS] += 1
                    continue
                named = _form_of(self._base.named(location))
                if named not in yielded:
                    yielded.add(named)
                    name = one_line(self._base.named(read.location))
                    yield UnmetLine(location, f"{name} names this file, and it is not there.{match.words}")

    def _has_files(self, folder: str) -> bool:
        names = self._names(folder)
        return names is not None and bool(names.known)

    def count_unused(self) -> None:
        """Count the lines of the lists that say nothing of any row; call it after the last row."""
        for read in self._lists:
            if not any(self._met[read.first_line : read.end]):
                self._ignored[Cause.UNUSED_CHECKSUMS] += read.end - read.first_line

    def _written_by(self, number: int) -> tuple[str, ...]:
        """Return the locations that a line may mean, the likeliest first."""
        _, first, other = self._table.execute(_LINE, (number,)).fetchone()
        if other is None:
            return (_location_of(first),)
        return _location_of(first), _location_of(other)

    def _match_of(self, number: int) -> Match:
        """Find the file that a line names by any spelling; without one, what is like the likeliest location."""
        top = self._lists[self._list_of(number)].top
        matches = list[Match]()
        for location in self._written_by(number):
            match = self._spellings.match(location, top)
            if match.location is not None:
                return match
            matches.append(match)
        return matches[0]

    def _meant_by(self, number: int) -> str | None:
        location = self._match_of(number).location
        return None if location is None else self._base.named(location)

    def _list_of(self, number: int) -> int:
        row = self._table.execute(_LINE, (number,)).fetchone()
        return int(row[0])

    def _read(self, location: str, source: Files, folder: str, within: str | None, checked: str | None = None) -> None:
        """Take what a list says of files `within`, or nothing if it cannot be read; CatalogError if it has no checksum.

        `checked` is the one file that it is of, such as `song.wav` of `song.wav.md5`.
        """
        name = posixpath.basename(location)
        usual = algorithm_of_list(name)
        is_of_bag = _BAG_NAME.fullmatch(name) is not None
        is_escaped_first = is_of_bag and not _is_old_bag(posixpath.dirname(location), source)
        top = folder if within is None else within
        first_line = len(self._met)
        read = ReadList(location, top, is_of_bag, first_line, first_line)
        has_any = False
        with self._table:
            for text in lines_of_list(location, source):
                line = line_of(text, usual)
                if line is None:
                    is_comment = not text.strip() or text.startswith(_COMMENTS)
                    self._ignored[Cause.UNUSED_CHECKSUMS] += not is_comment
                    continue
                has_any = True
                path = _path_of(line, checked)
                paths = _spellings_of(path, is_escaped_first=is_escaped_first) if is_of_bag else [path]
                files = _files_below(folder, paths, within)
                if files:
                    self._add(files, line, len(self._lists))
                else:
                    self._ignored[Cause.UNUSED_CHECKSUMS] += 1
        if not has_any:
            raise CatalogError(f"{one_line(location)}: there is no checksum in it that can be compared")
        read.end = len(self._met)
        with suppress(SourceError):
            facts = source.facts(location)
            read.version = "" if facts is None else facts.version
        self._lists.append(read)

    def _add(self, files: Sequence[str], line: ChecksumLine, of_list: int) -> None:
        number = len(self._met)
        self._met.append(False)
        first, other = _bytes_of(files[0]), None
        if len(files) > 1:
            other = _bytes_of(files[1])
        self._table.execute(_ADD_LINE, (number, of_list, first, other))
        for index, file in enumerate(files):
            named = self._base.named(file)
            # Another spelling counts only if no file has the first one, which is looked up then.
            exact = b"" if index else _key(named)
            self._table.execute(_ADD, (_form_of(named), number, exact, line.algorithm, line.digest))


def _path_of(line: ChecksumLine, checked: str | None) -> str:
    path = line.path
    if not line.is_escaped:
        path = path.replace("\\", "/")
    # A list of one file may name it without its folder, or not at all.
    if checked and posixpath.basename(path) in {"", checked}:
        return checked
    return path


def _files_below(folder: str, paths: Iterable[str], within: str | None) -> list[str]:
    files = list[str]()
    for path in filter(None, paths):
        file = below(folder, path)
        if within is None or is_within(file, within):
            files.append(file)
    return files


def _key(named: str) -> bytes:
    return raw_bytes(composed(named))


def _form_of(named: str) -> bytes:
    return raw_bytes(loose(named))


def _bytes_of(location: str) -> bytes:
    return location.encode("utf-8", "surrogateescape")


def _location_of(content: bytes) -> str:
    return content.decode("utf-8", "surrogateescape")


def _may_be_audio(location: str, read: ReadList) -> bool:
    # Files of a bag may have names without endings.
    return is_audio_name(location) or (read.is_of_bag and not posixpath.splitext(location)[1])


def _spellings_of(path: str, *, is_escaped_first: bool) -> list[str]:
    """Return the paths that a bag's line may mean: as it is written, and without its escapes."""
    without_escapes = _ESCAPE.sub(lambda escape: unquote(escape[0]), path)
    spellings = [path]
    if without_escapes != path:
        spellings.append(without_escapes)
    if is_escaped_first:
        spellings.reverse()
    return spellings


def _is_old_bag(folder: str, source: Files) -> bool:
    with suppress(SourceError):
        file = source.open(posixpath.join(folder, _BAG_DECLARATION))
        if file is not None:
            with file:
                start = file.read_at(0, _DECLARATION_BYTES)
            return _OLD_BAG.match(start.removeprefix(codecs.BOM_UTF8)) is not None
    return False


def algorithm_of_list(name: str) -> str | None:
    """Return the algorithm that the name of a list says; empty if it says none, None if it is no list's name."""
    match = _LIST_NAME.fullmatch(name)
    if match is None:
        _, ending = posixpath.splitext(name)
        return algorithm_named(ending)
    algorithm = match[1] or match[2]
    return "" if algorithm is None else algorithm_named(algorithm)


def is_list_name(name: str) -> bool:
    return algorithm_of_list(name) is not None


def line_of(line: str, usual: str | None) -> ChecksumLine | None:
    """Read a line of a list, whose name says the `usual` algorithm; None if nothing can be compared with it.

    Then the algorithm is not known, the digest is none of its algorithm, or it is no line of a list at all.
    """
    read = _plain_line_of(line.removeprefix("\\"), usual)
    if read is None or not line.startswith("\\"):
        return read
    path = _ESCAPED.sub(lambda letter: _ESCAPED_LETTERS[letter[1]], read.path)
    return read._replace(path=path, is_escaped=True)


def _plain_line_of(line: str, usual: str | None) -> ChecksumLine | None:
    tagged, plain = _TAGGED.fullmatch(line), _PLAIN.fullmatch(line)
    if tagged is not None:
        name, path, written = tagged.groups()
        algorithm = algorithm_named(name)
    elif plain is not None:
        written, path = plain[1], plain[2] or ""
        algorithm = usual or _BY_LENGTH.get(len(written))
    else:
        return None
    digest = hex_digest(algorithm, written) if algorithm else None
    if algorithm is None or digest is None:
        return None
    return ChecksumLine(algorithm, digest, path)


def lines_of_list(location: str, source: Files) -> Iterator[str]:
    """Yield the lines of a list without their ends; CatalogError, of one line, may come after many of them."""
    try:
        yield from _lines_of(source.open(location))
    except (SourceError, OSError, ValueError) as error:
        why = f"It is no text: {one_line(str(error))}."
        if isinstance(error, SourceError):
            why = error.message
        raise CatalogError(f"{one_line(location)}: cannot be read as a list of checksums. {why}") from error


def _lines_of(file: OpenFile | None) -> Iterator[str]:
    if file is None:
        raise SourceError("There is no such file.", reason=Reason.UNREADABLE_FILE)
    with buffered(file) as plain:
        if file.facts().size_bytes > MOST_BYTES:
            raise SourceError(f"It has more than {MOST_BYTES:,} bytes.", reason=Reason.UNREADABLE_FILE)
        for line in text_of(plain, encoding_of(plain), newline="\n"):  # closes the file with itself
            yield line.rstrip("\r\n")
