"""Read the names and lines of checksum lists: as md5sum and its kin write them, BSD style, a bare digest. Pure."""

import posixpath
import re
from dataclasses import dataclass
from typing import Final

from proofsweep.model.declared import ALGORITHMS, algorithm_named, hex_digest

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
    """One line that can be compared.

    Attributes:
        digest: in lower-case hex.
        path: as written, without escapes; empty if the line names none.
    """

    algorithm: str
    digest: str
    path: str


def is_list_name(name: str) -> bool:
    """Return whether a file's name is that of a checksum list, or of a checksum of one file."""
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
    """Return whether a line says nothing: it is empty, or a comment."""
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
