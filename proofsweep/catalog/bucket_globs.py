"""Find objects by a pattern, as in a folder: `*`, `?` and `[…]` stand within one part of a key, `**` for any parts."""

import glob
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from proofsweep.files.locations import path_within, root_and_key

if TYPE_CHECKING:
    from proofsweep.files.bucket_files import BucketFiles


def matches_of(url: str, files: "BucketFiles") -> tuple[str, list[str]]:
    """Give the deepest folder that the pattern names literally, and the URLs below it that match, sorted.

    Raises:
        SourceError: the folder cannot be listed.
    """
    folder = url.rpartition("/")[0]
    while glob.has_magic(root_and_key(folder)[1]) and next(files.listed(folder), None) is None:
        folder = folder.rpartition("/")[0]
    root, _ = root_and_key(url)
    patterns = path_within(url, folder).split("/")
    urls = (f"{root}/{key}" for key, _ in files.listed(folder))
    return folder, sorted(each for each in urls if _is_match(path_within(each, folder).split("/"), patterns))


def _is_match(parts: Sequence[str], patterns: Sequence[str]) -> bool:
    """Compare part by part; as in a shell, a hidden name matches only a pattern that begins with a dot."""
    if not patterns or not parts:
        return not parts and all(pattern == "**" for pattern in patterns)
    pattern, *more = patterns
    if pattern == "**" and _is_match(parts, more):
        return True
    if parts[0].startswith(".") and not pattern.startswith("."):
        return False
    return _is_match(parts[1:], patterns if pattern == "**" else more) if fnmatchcase(parts[0], pattern) else False
