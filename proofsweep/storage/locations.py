"""From what a person wrote to where a file is: paths and `file://` URLs, relative to the manifest's own folder."""

import os
import posixpath
import re
from urllib.parse import unquote_to_bytes

from proofsweep.batch.items import printable
from proofsweep.errors import CatalogError

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_BUCKETS = frozenset({"s3", "gs", "az", "abfs", "abfss", "wasb", "wasbs"})


def path_of(written: str, folder: str) -> str:
    """Give the absolute path that was meant, without asking whether anything is there.

    Raises:
        CatalogError: it is a URL of another kind than `file:`.
    """
    if scheme := _SCHEME.match(written):
        written = _path_in_url(written, scheme[1].lower())
    path = posixpath.join(folder, written)
    # What `..` means behind a link is for the system to say, so such a path stays as it is written.
    return path if ".." in path else posixpath.normpath(path)


def path_within(path: str, folder: str) -> str:
    """Name a path as seen from a folder: the same on every machine; absolute where it lies outside."""
    plain = posixpath.normpath(path) if ".." in path else path
    base = folder if folder.endswith("/") else folder + "/"
    return plain.removeprefix(base)


def one_line(location: str) -> str:
    """Show a location in a message that must stay a line."""
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in printable(location))


def _path_in_url(url: str, scheme: str) -> str:
    if scheme in _BUCKETS:
        raise CatalogError(f"{one_line(url)}: buckets are not read by this version")
    if scheme != "file":
        raise CatalogError(f"{one_line(url)}: {scheme} URLs are not read; give paths or file:// URLs")
    host, slash, path = url[len("file://") :].partition("/")
    if host not in ("", "localhost"):
        raise CatalogError(f"{one_line(url)}: names another machine, {one_line(host)}; write file:/// for this one")
    return os.fsdecode(unquote_to_bytes(os.fsencode(slash + path)))
