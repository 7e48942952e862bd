"""Where a file may lie that a message names: the location as written, and what senders mean by it. Pure."""

import posixpath
import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import unquote

from proofsweep.files.locations import is_bucket, is_windows, root_and_key

RESOURCES: Final = ("resources", "Resources")
"""Folders beside a message in which its files lie, when it gives their names alone."""

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")


def candidates(written: str) -> Iterator[str]:
    """Yield the paths that a location may mean, as seen from the message's folder, the likeliest first.

    An absolute path and a URL are those of another machine: only their file names are looked for.
    """
    seen: set[str] = set()
    for path in _spellings(written):
        is_elsewhere = path.startswith("/") or is_windows(path) or _URL.match(path)
        near = path.rstrip("/").rpartition("/")[2] if is_elsewhere else path
        in_resources = () if ".." in near.split("/") else (posixpath.join(folder, near) for folder in RESOURCES)
        for each in (near, *in_resources, *_beside(near)):
            if near and each not in seen:
                seen.add(each)
                yield each


def _spellings(written: str) -> Iterator[str]:
    plain = written.partition("?")[0] if _URL.match(written) else written
    for each in (plain, unquote(plain, errors="surrogateescape")):
        yield each
        if "\\" in each:
            yield each.replace("\\", "/")


def _beside(path: str) -> Iterator[str]:
    folder, _, name = path.removeprefix("./").partition("/")
    if folder in RESOURCES and name:
        yield name


def below(folder: str, path: str) -> str:
    """Return the location of a path as seen from a folder or prefix; `..` is resolved in the text, up to its root."""
    top = root_and_key(folder)[0] if is_bucket(folder) else "/"
    parts: list[str] = []
    for part in path.split("/"):
        if part == ".." and parts:
            parts.pop()
        elif part == "..":
            folder = folder if folder == top else posixpath.dirname(folder)
        elif part not in {"", "."}:
            parts.append(part)
    return posixpath.join(folder, *parts)


def leads_up(written: str) -> bool:
    """Whether a location may lie outside of its message's folder."""
    return any(".." in each for each in _spellings(written))
