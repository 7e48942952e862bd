"""Lists that a job of Spark, Dask, pandas or DuckDB wrote as a folder of parts: which folders are such a list."""

import os
import posixpath
import re
from collections.abc import Iterable, Iterator
from typing import Final

from proofsweep.config.locations import is_bucket, one_line, path_within, root_and_key
from proofsweep.domain.errors import CatalogError
from proofsweep.files.files import Files
from proofsweep.sources.readers import format_of, is_manifest_name

# Jobs leave these beside the parts: `_SUCCESS`, `_metadata`, `_committed_1`, `.part-00000.csv.crc`.
_NOTES = ("_", ".")
_DONE: Final = frozenset({"_SUCCESS", "_metadata", "_common_metadata"})
# With these, the parts that lie there are not the list, or not yet.
_REFUSED: Final = {
    "_temporary": "the job that writes this list has not ended: _temporary is there",
    "_delta_log": "this is a Delta table, of which some parts may be out of date: export it as Parquet",
}
_PART = re.compile(r"part[-._].*|data_\d+\..*|\d+\.part")
_PARTITION = re.compile(r"[^=/]+=[^/]*")


def parts_of(path: str, files: Files) -> list[str]:
    """Return the parts of the list that a folder or prefix is, sorted; none if it is no list.

    All that lies in it must be parts of one format. Its name (`list.csv`), the names of all parts, or what jobs leave
    beside them must say that it is a list. CatalogError if the job has not ended.
    """
    path = path.rstrip("/")
    if posixpath.basename(path).startswith("."):
        return []
    names = _names_in_bucket(path, files) if is_bucket(path) else _names_in_folder(path)
    is_list = is_manifest_name(path)
    parts = set[str]()
    formats = set[str | None]()
    for name in names:
        note = next((part for part in name.split("/") if part.startswith(_NOTES)), None)
        if note is not None:
            if note in _REFUSED:
                raise CatalogError(f"{one_line(path)}: {_REFUSED[note]}")
            is_list = is_list or note in _DONE
            continue
        folders, file = posixpath.split(name)
        formats.add(format_of(file, path))
        # One file that is no part: this is a folder of other things, which may have a million of them.
        if None in formats or len(formats) > 1 or not _are_partitions(folders):
            return []
        parts.add(name)
    if is_list or all(_PART.fullmatch(posixpath.basename(name)) for name in parts):
        return sorted(f"{path}/{name}" for name in parts)
    return []


def _are_partitions(folders: str) -> bool:
    return all(_PARTITION.fullmatch(folder) for folder in folders.split("/") if folder)


def _names_in_bucket(path: str, files: Files) -> Iterator[str]:
    _, prefix = root_and_key(path)
    for key, _ in files.buckets.listed(path, bad=set()):
        # A key that ends in a slash is an empty object by which some programs show a folder.
        if not key.endswith("/"):
            yield path_within(key, prefix)


def _names_in_folder(path: str) -> Iterator[str]:
    """Yield the names of files, each with its folders below the path, and of folders that are no partitions."""
    waiting = [""]
    while waiting:
        folder = waiting.pop()
        for name, is_folder in _entries(posixpath.join(path, folder)):
            below = posixpath.join(folder, name)
            if is_folder and _PARTITION.fullmatch(name):
                waiting.append(below)
            else:
                yield f"{below}/" if is_folder else below


def _entries(folder: str) -> Iterable[tuple[str, bool]]:
    try:
        with os.scandir(folder) as entries:
            return [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
    except OSError:  # whoever reads the folder as one says more
        return [("", False)]
