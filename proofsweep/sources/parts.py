"""Lists that a job of Spark, Dask, pandas or DuckDB wrote as a folder of parts: which folders are such a list."""

import posixpath
import re
from typing import Final

from proofsweep.config.locations import one_line
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
    is_list = is_manifest_name(path)
    parts = set[str]()
    formats = set[str | None]()
    for name in files.names_below(path, _is_partition):
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
    return all(_is_partition(folder) for folder in folders.split("/") if folder)


def _is_partition(folder: str) -> bool:
    return _PARTITION.fullmatch(folder) is not None
