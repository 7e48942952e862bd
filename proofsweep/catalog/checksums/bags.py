"""Read bags (RFC 8493): which of a folder's files are its manifests, and how their paths are written. Pure."""

import re
from collections.abc import Collection

from proofsweep.model.declared import algorithm_named

MARK = "bagit.txt"
"""The file that makes a folder a bag."""

FETCH = "fetch.txt"
PAYLOAD = "data/"
_MANIFEST = re.compile(r"manifest-([\w-]+)\.txt", re.IGNORECASE)
_ESCAPE = re.compile(r"%(0A|0D|25)", re.IGNORECASE)


def payload_manifests(names: Collection[str]) -> dict[str, str | None]:
    """Return the payload manifests among a folder's files, each with its algorithm; none if the folder is no bag.

    An algorithm that is not compared is None.
    """
    found = map(_MANIFEST.fullmatch, names if MARK in names else ())
    return {each[0]: algorithm_named(each[1]) for each in found if each is not None}


def path_in_bag(written: str) -> str | None:
    """Return a payload file's path as seen from the bag's folder; None if it is not of the payload.

    Only line ends and the percent sign are escaped (RFC 8493, 2.1.3).
    """
    path = _ESCAPE.sub(lambda found: chr(int(found[1], 16)), written.removeprefix("./"))
    parts = path.split("/")
    return path if path.startswith(PAYLOAD) and not {"", ".", ".."} & {*parts} else None


def fetched_path(line: str) -> str | None:
    """Return the path of a line of `fetch.txt`, which is an address, a size and a path; None if it is none."""
    parts = line.split(None, 2)
    return path_in_bag(parts[2]) if len(parts) == len(("address", "size", "path")) else None
