"""The objects of a results store as a file system, for DuckDB where it cannot read them itself."""

from datetime import UTC, datetime
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import chain

from fsspec.spec import AbstractBufferedFile, AbstractFileSystem

from proofsweep.config.threads import ThreadPoolExecutor
from proofsweep.queries.tables import STORE_SCHEME
from proofsweep.store.objects import REQUESTS_AT_ONCE, Store

_BLOCK_BYTES = 1024 * 1024  # that are asked of a store at least
_KEPT_OBJECTS = 64  # no larger than that, in memory


class StoreFiles(AbstractFileSystem):  # type: ignore[misc]  # fsspec has no types
    """The objects of a results store, as `proofsweep://<name>`; nothing can be written."""

    protocol = STORE_SCHEME
    cachable = False

    def __init__(self, store: Store) -> None:
        super().__init__()
        self._store = store
        self._sizes = lru_cache(maxsize=None)(store.sizes)
        self._whole = lru_cache(maxsize=_KEPT_OBJECTS)(store.read)

    def glob(self, path: str, **_: object) -> list[str]:
        """List the objects of a glob like `verdicts/*/[!.]*.parquet`; a name without one is taken as it is."""
        name = self._strip_protocol(path)
        if "*" not in name:
            return [name]
        top, _, pattern = name.partition("/*/")
        folders = [f"{top}/{folder}" for folder in self._store.folders(top)]
        # A year of nights has hundreds of folders, and each is a request.
        with ThreadPoolExecutor(REQUESTS_AT_ONCE) as pool:
            sizes = list(pool.map(self._sizes, folders))
        matching: list[str] = []
        for name in chain.from_iterable(sizes):
            last_part = name.rpartition("/")[2]
            if fnmatchcase(last_part, pattern):
                matching.append(name)
        return matching

    def info(self, path: str, **_: object) -> dict[str, object]:
        name = self._strip_protocol(path)
        folder = name.rpartition("/")[0]
        sizes = self._sizes(folder)
        if name not in sizes:
            raise FileNotFoundError(name)
        return {"name": name, "size": sizes[name], "type": "file"}

    def modified(self, _path: str) -> datetime:
        """Return the same time always: no object ever changes."""
        return datetime(2000, 1, 1, tzinfo=UTC)

    def _open(self, path: str, mode: str = "rb", **_: object) -> "_Object":
        return _Object(self, self._strip_protocol(path), mode=mode, block_size=_BLOCK_BYTES)

    def read_range(self, name: str, start: int, end: int) -> bytes:
        """Read a range; a small object is asked for once, as its footer and each of its columns are read apart."""
        folder = name.rpartition("/")[0]
        size = self._sizes(folder).get(name, 0)
        if 0 < size <= _BLOCK_BYTES:
            content = self._whole(name)
            if content is not None:
                return content[start:end]
        return self._store.read_range(name, start, end)


class _Object(AbstractBufferedFile):  # type: ignore[misc]  # fsspec has no types
    def _fetch_range(self, start: int, end: int) -> bytes:
        content: bytes = self.fs.read_range(self.path, start, end)
        return content
