"""Small objects, each created once, in a folder or a bucket: an object appears when its content is whole."""

import fcntl
import hashlib
import json
import os
import re
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from operator import attrgetter
from pathlib import Path
from typing import IO, TYPE_CHECKING, NoReturn, Protocol

import obstore

from proofsweep.config.buckets import FAILURES, FailureKind, failure_of, open_bucket
from proofsweep.config.local_files import make_folder, sync_file, sync_folder
from proofsweep.config.locations import BUCKET_SCHEMES, is_bucket, path_of, root_and_key
from proofsweep.domain.errors import CatalogError, NameTaken, ResultsError


class FolderStore:
    """A results store in a folder of this machine; a created object survives a power cut."""

    def __init__(self, root: Path, called: str = "results store") -> None:
        self._root = root
        self._called = called

    @property
    def url(self) -> str:
        return str(self._root)

    def path_of(self, name: str) -> Path:
        return self._root / name

    def create(self, name: str, content: bytes) -> None:
        path = self._root / name
        with self._wrapped_errors("written"):
            make_folder(path.parent)
            is_ours = _was_created(path, content)
        if not is_ours:
            raise NameTaken(f"{name} exists already.")

    def replace(self, name: str, content: bytes) -> None:
        path = self._root / name
        with self._wrapped_errors("written"):
            make_folder(path.parent)
            with _draft_beside(path) as draft:
                _write_durably(draft, content)
                draft.replace(path)
            sync_folder(path.parent)

    def read(self, name: str) -> bytes | None:
        with self._wrapped_errors("read"), suppress(FileNotFoundError, NotADirectoryError):
            return (self._root / name).read_bytes()
        return None

    def read_range(self, name: str, start: int, end: int) -> bytes:
        with self._wrapped_errors("read"), (self._root / name).open("rb") as file:
            file.seek(start)
            return file.read(end - start)

    def names(self, folder: str) -> list[str]:
        return [f"{folder}/{entry.name}" for entry in self._entries(folder) if entry.is_file()]

    def sizes(self, folder: str) -> dict[str, int]:
        found: dict[str, int] = {}
        for entry in self._entries(folder):
            with self._wrapped_errors("read"), suppress(FileNotFoundError):
                found |= {f"{folder}/{entry.name}": entry.stat().st_size} if entry.is_file() else {}
        return found

    def folders(self, folder: str, after: str = "") -> list[str]:
        return [entry.name for entry in self._entries(folder) if entry.name > after and entry.is_dir()]

    def delete(self, name: str) -> None:
        with self._wrapped_errors("written"):
            (self._root / name).unlink(missing_ok=True)

    def within(self, folder: str) -> "FolderStore":
        return FolderStore(self._root / folder, self._called)

    def _entries(self, folder: str) -> list[os.DirEntry[str]]:
        missing = suppress(FileNotFoundError, NotADirectoryError)
        with self._wrapped_errors("read"), missing, os.scandir(self._root / folder) as entries:
            visible = (entry for entry in entries if not entry.name.startswith("."))
            return sorted(visible, key=attrgetter("name"))
        return []

    @contextmanager
    def _wrapped_errors(self, what: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise ResultsError(f"The {self._called} {self.url} cannot be {what} ({error.strerror}).") from error


def _was_created(path: Path, content: bytes) -> bool:
    """Write a draft, sync it, then link it: a name exists only with its whole content. False if it is taken."""
    with _draft_beside(path) as draft:
        _write_durably(draft, content)
        try:
            path.hardlink_to(draft)
        except OSError as error:
            if draft.stat().st_nlink == 1:  # else NFS has repeated a request whose answer was lost
                if isinstance(error, FileExistsError):
                    return False
                raise
    sync_folder(path.parent)
    return True


@contextmanager
def _draft_beside(path: Path) -> Iterator[Path]:
    draft = path.parent / f".draft-{secrets.token_hex(8)}"
    try:
        yield draft
    finally:
        draft.unlink(missing_ok=True)


def _write_durably(path: Path, content: bytes) -> None:
    with path.open("xb") as file:
        file.write(content)
        sync_file(file)


# Files that a process keeps locked until it ends, whatever ends it: who finds one unlocked knows that it is gone. The
# kernel keeps the locks, so they tell processes of all containers of one machine of each other. A network or a user's
# file system may lose a lock, or keep it where others do not see it: there no file is held.

_LOCAL = frozenset({"btrfs", "ext2", "ext3", "ext4", "overlay", "tmpfs", "xfs", "zfs"})
"""File systems whose locks are the kernel's own."""

_held: dict[Path, IO[bytes]] = {}
"""A lock is the process's, whichever object asked for it."""


def hold(path: Path) -> bool:
    """Keep a file locked; False if it cannot be, or if another process holds it."""
    if path in _held:
        return True
    if not is_local(path):
        return False
    with suppress(OSError):
        file = path.open("rb")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.close()
            return False
        _held[path] = file
        return True
    return False


def let_go(path: Path) -> None:
    if (file := _held.pop(path, None)) is not None:
        file.close()


def is_let_go(path: Path) -> bool:
    """Whether no process holds a file; False if that is not known."""
    if path in _held or not is_local(path):
        return False
    with suppress(OSError), path.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return True
    return False


def is_local(path: Path) -> bool:
    """Whether a path lies in a file system of this machine, as the kernel lists it; False where it has no such list."""
    best, kind = -1, ""
    with suppress(OSError):
        real = str(path.parent.resolve())
        for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            facts, _, described = line.partition(" - ")
            mounted = facts.split()[4].replace("\\040", " ")
            if real == mounted or real.startswith(mounted.rstrip("/") + "/"):
                best, kind = max((best, kind), (len(mounted), described.split()[0]), key=lambda found: found[0])
    return kind in _LOCAL


if TYPE_CHECKING:
    from obstore import ListResult, ObjectMeta
    from obstore.store import ObjectStore

_CREATE_ATTEMPTS = 3
# obstore's error of a request that it sent once only: then the existing object is another process's.
_FIRST_TRY = re.compile(r"\bretries: 0,")


class BucketStore:
    """A results store below a bucket URL; `open_root` opens the bucket at the first use.

    If the bucket lets several creates of one name succeed, the last one's object remains; read it back to see whose.
    """

    def __init__(
        self, url: str, open_root: Callable[[str], "ObjectStore"] = open_bucket, *, called: str = "results store"
    ) -> None:
        self.url = url.rstrip("/")
        self._called = called
        self._root, self._prefix = root_and_key(self.url)
        self._open_root = open_root
        self._store: ObjectStore | None = None

    def within(self, folder: str) -> "BucketStore":
        return BucketStore(f"{self.url}/{folder}", self._open_root, called=self._called)

    def path_of(self, name: str) -> None:
        """Return None: an object of a bucket is no file."""

    def create(self, name: str, content: bytes) -> None:
        for _ in range(_CREATE_ATTEMPTS):
            try:
                obstore.put(self._bucket, self._key(name), content, mode="create")
            except FAILURES as error:
                if failure_of(error).kind is not FailureKind.TAKEN:
                    self._fail("written", error)
                there = self.read(name)
                if there is None:  # it is gone again: its writer failed
                    continue
                if there == content and not _FIRST_TRY.search(str(error)):
                    return
                raise NameTaken(f"{name} exists already.") from None
            else:
                return
        raise ResultsError(
            f"The {self._called} {self.url} cannot be written (other processes write {name} at the same time)."
        )

    def replace(self, name: str, content: bytes) -> None:
        """Put an object, also over one of that name; a page says what it is, since a browser goes by that."""
        attributes = {"Content-Type": "text/html; charset=utf-8"} if name.endswith(".html") else None
        try:
            obstore.put(self._bucket, self._key(name), content, mode="overwrite", attributes=attributes)
        except FAILURES as error:
            self._fail("written", error)

    def read(self, name: str) -> bytes | None:
        try:
            return bytes(obstore.get(self._bucket, self._key(name)).bytes())
        except FAILURES as error:
            if failure_of(error).kind is FailureKind.MISSING:
                return None
            self._fail("read", error)

    def read_range(self, name: str, start: int, end: int) -> bytes:
        try:
            return bytes(obstore.get_range(self._bucket, self._key(name), start=start, end=end))
        except FAILURES as error:
            self._fail("read", error)

    def names(self, folder: str) -> list[str]:
        return sorted(self.sizes(folder))

    def sizes(self, folder: str) -> dict[str, int]:
        found = {self._name(meta["path"]): meta["size"] for meta in self._below(folder)["objects"]}
        return {path: size for path, size in found.items() if _is_open(path) and path.startswith(f"{folder}/")}

    def folders(self, folder: str, after: str = "") -> list[str]:
        if after:
            # The listing begins behind all that lies in the folder `after`: `0` is the character that follows `/`.
            below = self._key(folder) + "/"
            try:
                pages = obstore.list(self._bucket, below, offset=f"{below}{after}0")
                found = {meta["path"].removeprefix(below).partition("/")[0] for page in pages for meta in page}
            except FAILURES as error:
                self._fail("listed", error)
            return sorted(name for name in found if name > after and not name.startswith("."))
        paths = [self._name(prefix.rstrip("/")) for prefix in self._below(folder)["common_prefixes"]]
        return sorted(path.rpartition("/")[2] for path in paths if _is_open(path))

    def delete(self, name: str) -> None:
        try:
            obstore.delete(self._bucket, self._key(name))
        except FAILURES as error:
            if failure_of(error).kind is not FailureKind.MISSING:
                self._fail("written", error)

    @property
    def _bucket(self) -> "ObjectStore":
        if self._store is None:
            try:
                self._store = self._open_root(self._root)
            except FAILURES as error:
                self._fail("opened", error)
        return self._store

    def _below(self, folder: str) -> "ListResult[list[ObjectMeta]]":
        try:
            return obstore.list_with_delimiter(self._bucket, self._key(f"{folder}/"))  # type: ignore[return-value]
        except FAILURES as error:
            self._fail("listed", error)

    def _key(self, name: str) -> str:
        return f"{self._prefix}/{name}" if self._prefix else name

    def _name(self, key: str) -> str:
        return key.removeprefix(f"{self._prefix}/") if self._prefix else key

    def _fail(self, what: str, error: Exception) -> NoReturn:
        failure = failure_of(error)
        sentence = FailureKind.NO_BUCKET if failure.kind is FailureKind.MISSING else failure.sentence
        raise ResultsError(f"The {self._called} {self.url} cannot be {what}: {sentence}.") from None


def _is_open(path: str) -> bool:
    return not path.rpartition("/")[2].startswith(".")


# Requests of one process that wait for a bucket together.
REQUESTS_AT_ONCE = 16


class Store(Protocol):
    """A tree of objects with names like `verdicts/run_date=2026-11-20/a.parquet`."""

    @property
    def url(self) -> str:
        """Where it is, for a person; holds no credentials."""

    def path_of(self, name: str) -> Path | None:
        """Return where an object is a file of this machine, whether it is there or not; None in a bucket."""

    def create(self, name: str, content: bytes) -> None:
        """Make an object; a reader sees it whole or not at all. NameTaken if an object of that name exists."""

    def replace(self, name: str, content: bytes) -> None:
        """Make an object or overwrite it; a reader sees the old or the new one, whole."""

    def read(self, name: str) -> bytes | None: ...

    def names(self, folder: str) -> list[str]:
        """List the full names of the objects directly in a folder, sorted; none if it is missing."""

    def sizes(self, folder: str) -> dict[str, int]:
        """Return the sizes in bytes of the objects directly in a folder, by their full names."""

    def folders(self, folder: str, after: str = "") -> list[str]:
        """List the folders directly in a folder, by the last part of their names, sorted; those that sort after one."""

    def delete(self, name: str) -> None:
        """Delete an object; a missing one is no error."""

    def within(self, folder: str) -> "Store": ...


def open_store(url: str, called: str = "results store") -> Store:
    """Open the store at a folder's path, `file://` URL or bucket URL; nothing is made or requested yet.

    Messages call it so. ResultsError if the location is of another kind, or holds credentials.
    """
    scheme, has_scheme, _ = url.partition("://")
    if not has_scheme:
        return FolderStore(Path(url).expanduser().absolute(), called)
    if scheme == "file" or is_bucket(url):
        try:
            location = path_of(url, "/")
        except CatalogError as error:
            raise ResultsError(f"The {called} cannot be used: {error.message}.") from error
        if scheme == "file":
            return FolderStore(Path(location), called)

        return BucketStore(location, called=called)
    kinds = ", ".join(f"{each}://" for each in sorted(BUCKET_SCHEMES))
    raise ResultsError(f"A {called} at {scheme}:// is not supported; give a folder, or a URL of {kinds}.")


def probe(store: Store) -> None:
    """Create and delete a small object; if the folder does not exist yet, in the nearest folder above it.

    ResultsError if the store cannot be written, or overwrites existing objects.
    """
    probed = store
    if isinstance(store, FolderStore):
        path = Path(store.url)
        probed = FolderStore(next(each for each in (path, *path.parents) if each.exists()))
    name = f"_probe-{secrets.token_hex(8)}.json"
    probed.create(name, b"{}\n")
    try:
        probed.create(name, b"[]\n")
    except NameTaken:
        return
    finally:
        probed.delete(name)
    raise ResultsError(f"The results store {store.url} overwrites existing objects; a results store must refuse to.")


def damaged(store: Store, name: str, why: str = "") -> ResultsError:
    because = f": {why}" if why else ""
    return ResultsError(f"{name} in the results store {store.url} is damaged{because}. Restore it from a backup.")


def read_object(store: Store, name: str) -> dict[str, object] | None:
    """Read a JSON object; None if there is none of the name. ResultsError if it is not whole."""
    content = store.read(name)
    try:
        document = None if content is None else json.loads(content)
    except ValueError as damage:
        raise damaged(store, name, "it is not whole") from damage
    if content is not None and not isinstance(document, dict):
        raise damaged(store, name, "it is not whole")
    return document


def json_bytes(document: object) -> bytes:
    return json.dumps(document, indent=2, ensure_ascii=False, default=str).encode("utf-8", "replace") + b"\n"


def sha256_hex(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
