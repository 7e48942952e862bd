"""A results store in a bucket, with the methods of `FolderStore`: it creates an object only if there is none."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from typing import TYPE_CHECKING, NoReturn

import obstore

from proofsweep.config.buckets import FAILURES, FailureKind, failure_of, open_bucket
from proofsweep.config.locations import root_and_key
from proofsweep.config.threads import Lock
from proofsweep.domain.errors import NameTaken, ResultsError
from proofsweep.store.bounded_calls import BoundedCalls, bounded
from proofsweep.store.folder_root import MARKER, new_marker, no_store_error, say_new

if TYPE_CHECKING:
    from obstore import ListResult, ObjectMeta
    from obstore.store import ObjectStore


_CREATE_ATTEMPTS = 3


class BucketStore:
    """A results store below a bucket URL; `open_root` opens the bucket at the first use."""

    def __init__(
        self,
        url: str,
        open_root: Callable[[str], "ObjectStore"] = open_bucket,
        *,
        called: str = "results store",
        is_marked: bool = True,
        must_exist: bool = False,
    ) -> None:
        self.url = url.rstrip("/")
        self.called = called
        self._root, self.prefix = root_and_key(self.url)
        self._open_root = open_root
        self._store: ObjectStore | None = None
        self.calls = BoundedCalls(f"The {called} {self.url} does not answer.")
        self.marker: _Marker | None = None
        if is_marked:
            self.marker = _Marker(self.without_marker(), must_exist=must_exist)

    def below(self, folder: str) -> "BucketStore":
        """Return one of its folders as a store, with names of its own."""
        store = copy(self)
        store.url, store.prefix = f"{self.url}/{folder}", self._key(folder)
        return store

    def without_marker(self) -> "BucketStore":
        store = copy(self)
        store.marker = None
        return store

    @bounded
    def begin(self) -> None:
        if self.marker is not None:
            self.marker.must_exist = False
            self.marker.begin()

    @bounded
    def create(self, name: str, content: bytes) -> None:
        self._require_begun()
        # What stands there counts, not the answer: a name may be taken by the library's own first try, and some buckets
        # let two processes through. The second may even come after this has read back: then the content says later
        # whose object it is, so whoever deletes something because of this reads it once more.
        for _ in range(_CREATE_ATTEMPTS):
            failure = None
            try:
                obstore.put(self._bucket, self._key(name), content, mode="create")
            except FAILURES as error:
                kind = failure_of(error).kind
                if kind not in {FailureKind.TAKEN, FailureKind.AWAY}:
                    self._fail("written", error)
                failure = error if kind is FailureKind.AWAY else None
            stored = self.read(name)
            if stored == content:
                return
            if stored is not None:
                raise NameTaken(f"{name} exists already.")
            if failure is not None:
                self._fail("written", failure)
        rivals = f"other processes write {name} at the same time"
        raise ResultsError(f"The {self.called} {self.url} cannot be written ({rivals}).")

    @bounded
    def replace(self, name: str, content: bytes) -> None:
        self._require_begun()
        # A page says what it is, since a browser goes by that.
        attributes = {"Content-Type": "text/html; charset=utf-8"} if name.endswith(".html") else None
        with self._wrapped_errors("written"):
            bucket, key = self._bucket, self._key(name)
            # In one request: of an upload in pieces, a kill would leave some that nobody sees, and that cost money.
            obstore.put(bucket, key, content, mode="overwrite", attributes=attributes, use_multipart=False)

    def replace_derived(self, name: str, content: bytes) -> None:
        self.replace(name, content)  # a bucket knows no owner of an object

    @bounded
    def read(self, name: str) -> bytes | None:
        self._look()
        with self._wrapped_errors("read", may_miss=True):
            answer = obstore.get(self._bucket, self._key(name))
            return bytes(answer.bytes())
        return None

    @bounded
    def read_range(self, name: str, start: int, end: int) -> bytes:
        with self._wrapped_errors("read"):
            content = obstore.get_range(self._bucket, self._key(name), start=start, end=end)
            return bytes(content)

    def names(self, folder: str) -> list[str]:
        return sorted(self.sizes(folder))

    @bounded
    def sizes(self, folder: str) -> dict[str, int]:
        self._look()
        sizes: dict[str, int] = {}
        for meta in self._listed(folder)["objects"]:
            name = self._name(meta["path"])
            if _is_open(name) and name.startswith(f"{folder}/"):
                sizes[name] = meta["size"]
        return sizes

    @bounded
    def folders(self, folder: str, after: str = "") -> list[str]:
        self._look()
        if after:
            return self._folders_after(folder, after)
        paths = [self._name(prefix.rstrip("/")) for prefix in self._listed(folder)["common_prefixes"]]
        return sorted(path.rpartition("/")[2] for path in paths if _is_open(path))

    def _folders_after(self, folder: str, after: str) -> list[str]:
        below = self._key(folder) + "/"
        folders = set[str]()
        with self._wrapped_errors("listed"):
            # The listing begins behind all that lies in the folder `after`: `0` is the character that follows `/`.
            for page in obstore.list(self._bucket, below, offset=f"{below}{after}0"):
                for meta in page:
                    name, _, _ = meta["path"].removeprefix(below).partition("/")
                    if name > after and not name.startswith("."):
                        folders.add(name)
        return sorted(folders)

    @bounded
    def delete(self, name: str) -> None:
        with self._wrapped_errors("written", may_miss=True):
            obstore.delete(self._bucket, self._key(name))

    @bounded
    def is_empty(self) -> bool:
        listed = self._listed("")
        return not listed["objects"] and not listed["common_prefixes"]

    def unfinished_writes(self) -> dict[str, int]:
        return {}  # an object is put in one request

    @property
    def _bucket(self) -> "ObjectStore":
        if self._store is None:
            with self._wrapped_errors("opened"):
                self._store = self._open_root(self._root)
        return self._store

    def _look(self) -> None:
        if self.marker is not None:
            self.marker.look()

    def _require_begun(self) -> None:
        if self.marker is not None:
            self.marker.begin()

    def _listed(self, folder: str) -> "ListResult[list[ObjectMeta]]":
        """List what is directly in a folder, or in the store."""
        prefix = self._key(f"{folder}/" if folder else "")
        with self._wrapped_errors("listed"):
            return obstore.list_with_delimiter(self._bucket, prefix)  # type: ignore[return-value]

    def _key(self, name: str) -> str:
        return f"{self.prefix}/{name}" if self.prefix else name

    def _name(self, key: str) -> str:
        return key.removeprefix(f"{self.prefix}/") if self.prefix else key

    @contextmanager
    def _wrapped_errors(self, what: str, *, may_miss: bool = False) -> Iterator[None]:
        try:
            yield
        except FAILURES as error:
            if not may_miss or failure_of(error).kind is not FailureKind.MISSING:
                self._fail(what, error)

    def _fail(self, what: str, error: Exception) -> NoReturn:
        failure = failure_of(error)
        sentence = FailureKind.NO_BUCKET if failure.kind is FailureKind.MISSING else failure.sentence
        cannot = f"The {self.called} {self.url} cannot be {what}: {sentence}."
        raise ResultsError(cannot, is_outage=failure.kind is FailureKind.AWAY) from None


class _Marker:
    """Whether a bucket has its store: asked once by each process, since a bucket is never unmounted."""

    def __init__(self, store: BucketStore, *, must_exist: bool) -> None:
        self._store, self.must_exist, self._has_begun = store, must_exist, False
        self._lock = Lock()

    def look(self) -> None:
        """Raise ResultsError if a store must exist and does not."""
        if self.must_exist and not self._has_begun:
            if self._store.read(MARKER) is None:
                raise no_store_error(self._store.called, self._store.url)
            self._has_begun = True

    def begin(self) -> None:
        """See that the store has its marker; one without objects begins."""
        self.look()
        if self._has_begun:
            return
        with self._lock:
            if self._store.read(MARKER) is None:
                self._make()
            self._has_begun = True

    def _make(self) -> None:
        is_new = self._store.is_empty()
        try:
            self._store.create(MARKER, new_marker())
        except NameTaken:  # another process began it
            return
        if is_new:
            say_new(self._store.called, self._store.url)


def _is_open(path: str) -> bool:
    return not path.rpartition("/")[2].startswith(".")
