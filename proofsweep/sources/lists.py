"""Read lists of checksums: as md5sum and its kin write them, BSD style, a bare digest, manifests of bags (RFC 8493)."""

import posixpath
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import partial
from io import BytesIO, TextIOWrapper
from typing import Final

from proofsweep.config.locations import one_line
from proofsweep.domain.declared import ALGORITHMS, algorithm_named, hex_digest
from proofsweep.domain.errors import CatalogError, SourceError
from proofsweep.domain.reasons import Reason
from proofsweep.sources.encodings import encoding_of
from proofsweep.sources.source import OpenFile, Source, buffered

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
