"""The objects of a results store as files that DuckDB reads."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import TYPE_CHECKING, TypeGuard

from fsspec.spec import AbstractBufferedFile, AbstractFileSystem

from proofsweep.store.folder_store import FolderStore
from proofsweep.store.store import REQUESTS_AT_ONCE, Store

if TYPE_CHECKING:
    from proofsweep.store.bucket_store import BucketStore

STORE_SCHEME = "proofsweep"
_BLOCK_BYTES = 1024 * 1024  # that are asked for at least


def read_by_us(store: Store) -> "TypeGuard[BucketStore | FolderStore]":
    """Whether DuckDB reads a store through `StoreFiles`: it takes a backslash in a folder's name for a slash."""
    return not isinstance(store, FolderStore) or "\\" in store.url


class StoreFiles(AbstractFileSystem):  # type: ignore[misc]  # fsspec has no types
    """The objects of a results store, as `proofsweep://<name>`; nothing can be written."""

    protocol = STORE_SCHEME
    cachable = False

    def __init__(self, store: "BucketStore | FolderStore") -> None:
        super().__init__()
        self._store = store
        self._sizes = lru_cache(maxsize=None)(store.sizes)

    def glob(self, path: str, **_: object) -> list[str]:
        """List the objects of a glob like `verdicts/*/[!.]*.parquet`; a name without one is taken as it is."""
        name = self._strip_protocol(path)
        if "*" not in name:
            return [name]
        top, _, pattern = name.partition("/*/")
        folders = [f"{top}/{each}" for each in self._store.folders(top)]
        with ThreadPoolExecutor(REQUESTS_AT_ONCE) as pool:  # a year of nights has hundreds of folders
            names = [name for sizes in pool.map(self._sizes, folders) for name in sizes]
        return [name for name in names if fnmatchcase(name.rpartition("/")[2], pattern)]

    def info(self, path: str, **_: object) -> dict[str, object]:
        name = self._strip_protocol(path)
        sizes = self._sizes(name.rpartition("/")[0])
        if name not in sizes:
            raise FileNotFoundError(name)
        return {"name": name, "size": sizes[name], "type": "file"}

    def modified(self, _path: str) -> datetime:
        """Return the same time always: no object ever changes."""
        return datetime(2000, 1, 1, tzinfo=UTC)

    def _open(self, path: str, mode: str = "rb", **_: object) -> "_Object":
        return _Object(self, self._strip_protocol(path), mode=mode, block_size=_BLOCK_BYTES)

    def read_range(self, name: str, start: int, end: int) -> bytes:
        return self._store.read_range(name, start, end)


class _Object(AbstractBufferedFile):  # type: ignore[misc]  # fsspec has no types
    def _fetch_range(self, start: int, end: int) -> bytes:
        content: bytes = self.fs.read_range(self.path, start, end)
        return content
