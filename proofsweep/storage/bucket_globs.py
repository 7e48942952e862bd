"""Patterns of objects, read as those of files are: `*`, `?` and `[…]` within a part of the key, `**` for any parts."""

import fnmatch
import glob
import re
from typing import TYPE_CHECKING

from proofsweep.storage.locations import root_and_key

if TYPE_CHECKING:
    from proofsweep.storage.bucket_files import BucketFiles


def matches_of(url: str, files: "BucketFiles") -> tuple[str, list[str]]:
    """Give the folder before the first pattern, and the URLs of the objects that match, sorted.

    Raises:
        SourceError: the folder cannot be listed.
    """
    root, key = root_and_key(url)
    parts = key.split("/")
    literal = next(index for index, part in enumerate(parts) if glob.has_magic(part))
    folder = "/".join([root, *parts[:literal]])
    pattern = re.compile("".join(map(_expression, parts))[:-1])
    return folder, sorted(f"{root}/{each}" for each, _ in files.listed(folder) if pattern.fullmatch(each))


def _expression(part: str) -> str:
    """Give a part's regular expression, with the slash behind it."""
    if part == "**":
        return "(?:[^/]+/)*"
    inner = fnmatch.translate(part).removeprefix("(?s:").removesuffix(r")\Z")
    return f"{inner.replace('.*', '[^/]*')}/"
