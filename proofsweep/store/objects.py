"""Small objects, each created once, in a folder or a bucket: an object appears when its content is whole."""

import hashlib
import json
import os
import secrets
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, Union

from pydantic import TypeAdapter

from proofsweep.config.locations import (
    BUCKET_SCHEMES,
    is_bucket,
    path_of,
)
from proofsweep.config.notices import say
from proofsweep.config.threads import some_at_once
from proofsweep.domain.errors import DISK_FAILS, CatalogError, NameTaken, ResultsError
from proofsweep.store.bounded_calls import BoundedCalls, bounded
from proofsweep.store.folder_root import FolderRoot, require_parent
from proofsweep.store.whole_files import (
    DRAFT,
    NoHardLinks,
    Put,
    is_file,
    link,
    read_path,
    read_whole,
    rename,
    scanned,
    size_of,
    unlink,
    write_whole,
)

if TYPE_CHECKING:
    from proofsweep.store.bucket_store import BucketStore

Store = Union["FolderStore", "BucketStore"]
Document = TypeVar("Document")
Fact = TypeVar("Fact")

JSON_OBJECT = TypeAdapter(dict[str, object])

_NOBODYS_SECONDS = 7 * 86_400

# Requests of one process that wait for a bucket together.
REQUESTS_AT_ONCE = 16


def open_store(url: str, *, must_exist: bool = False) -> Store:
    """Open the results store at a folder's path, `file://` URL or bucket URL; nothing is made or requested yet.

    ResultsError if the location is of another kind, or holds credentials; at the first use, if one must exist and none
    does.
    """
    return _opened(url, "results store", is_marked=True, must_exist=must_exist)


def open_place(url: str, called: str) -> Store:
    """Open a place for objects that are no results; messages call it so. Missing folders are made."""
    return _opened(url, called, is_marked=False)


def _opened(url: str, called: str, *, is_marked: bool, must_exist: bool = False) -> Store:
    scheme, has_scheme, _ = url.partition("://")
    if not has_scheme:
        try:
            path = Path(url).expanduser().absolute()
        except RuntimeError as error:
            raise ResultsError(f"The {called} cannot be used: {url} begins with the name of no user.") from error
        return FolderStore(path, called, is_marked=is_marked, must_exist=must_exist)
    if scheme != "file" and not is_bucket(url):
        kinds = ", ".join(f"{bucket_scheme}://" for bucket_scheme in sorted(BUCKET_SCHEMES))
        raise ResultsError(f"A {called} at {scheme}:// is not supported; give a folder, or a URL of {kinds}.")
    try:
        location = path_of(url, "/")
    except CatalogError as error:
        raise ResultsError(f"The {called} cannot be used: {error.message}.") from error
    if scheme == "file":
        return FolderStore(Path(location), called, is_marked=is_marked, must_exist=must_exist)

    from proofsweep.store.bucket_store import BucketStore  # noqa: PLC0415 - only for buckets, which few have

    return BucketStore(location, called=called, is_marked=is_marked, must_exist=must_exist)


def is_probed_first(url: str) -> bool:
    """Whether a store is probed before a run begins: one that speaks S3 may still know no conditional create."""
    return is_bucket(url)


def probe(store: Store) -> None:
    """Create and delete a small object; if the folder does not exist yet, in the one above it.

    ResultsError if the store cannot be written, or overwrites existing objects.
    """
    probed = store.without_marker()
    if isinstance(store, FolderStore):
        probed = store.writable_place()
    name = f"_probe-{secrets.token_hex(8)}.json"
    probed.create(name, b"{}\n")
    # The second object of the name must be refused: else two processes could hold one leg.
    try:
        probed.create(name, b"[]\n")
    except NameTaken:
        return
    finally:
        probed.delete(name)
    raise ResultsError(f"The results store {store.url} overwrites existing objects; a results store must refuse to.")


class FolderStore:
    """A results store in a folder of this machine; a created object survives a power cut.

    Objects have names like `verdicts/run_date=2026-11-20/a.parquet`. A reader sees each whole, or not at all. Each
    method raises ResultsError if it is not known what stands there, also if the store is away or hangs. `BucketStore`
    has the same methods.
    """

    def __init__(
        self, root: Path, called: str = "results store", *, is_marked: bool = True, must_exist: bool = False
    ) -> None:
        """Take a folder. One that is not marked is no results store: it is made with those above it."""
        self._path, self._called = root, called
        self.folder = ""  # below the root, where its objects lie
        self._root = FolderRoot(root, called, is_marked=is_marked, must_exist=must_exist)
        self.calls = BoundedCalls(f"The {called} {root} does not answer.")

    @property
    def url(self) -> str:
        """Where it is, for a person; holds no credentials."""
        return str(self._path / self.folder)

    def below(self, folder: str) -> "FolderStore":
        """Return one of its folders as a store, with names of its own; it is away when this one is."""
        store = copy(self)
        store.folder = f"{self.folder}{folder}/"
        return store

    def without_marker(self) -> "FolderStore":
        """Return its folder as any other one."""
        return FolderStore(self._path, self._called, is_marked=False)

    def writable_place(self) -> "FolderStore":
        """Return its folder, or the one in which a store would begin, as any folder; ResultsError if both are missing.

        What may not be looked for is told when it is written.
        """
        with self.wrapped_errors("written"):
            try:
                self._path.stat()  # a name that no disk can hold is told here, and not by the first run
            except (FileNotFoundError, PermissionError):
                require_parent(self._path, self._called)
                return FolderStore(self._path.parent, self._called, is_marked=False)
        return self.without_marker()

    @bounded
    def begin(self) -> None:
        """Begin the store if there is none, though one must exist: a person sees to it that the place is right."""
        self._root.must_exist = False
        with self.wrapped_errors("written"), self._root.opened_to_write():
            pass

    @bounded
    def create(self, name: str, content: bytes) -> None:
        """Make an object whose bytes stand there for good; NameTaken if other bytes stand there.

        To write the same bytes again is no error, so that a write whose answer was lost can be repeated. A caller that
        must know that no other process has written them puts something of its own into them.
        """

        def put(root: int, draft: Path, path: Path) -> None:
            try:
                link(root, draft, path)
            except NoHardLinks:
                raise
            except OSError as error:
                # NFS repeats a request whose answer was lost, and then finds the name taken by this very file.
                stored = _read_at(root, path)
                if stored is None and not isinstance(error, FileExistsError):
                    raise
                if stored != content:
                    raise NameTaken(f"{name} exists already.") from error

        self._write(name, content, put)

    @bounded
    def replace(self, name: str, content: bytes) -> None:
        """Make an object or overwrite it; a reader sees the old or the new one."""
        self._write(name, content, rename)

    def replace_derived(self, name: str, content: bytes) -> None:
        """Do so for what each reader can make anew; only those to whom the folder belongs write it."""
        # Whoever else reads here, root too, would leave a file that the owner may not be able to read or to replace.
        if self._is_ours():
            self.replace(name, content)

    @bounded
    def _is_ours(self) -> bool:
        with self.wrapped_errors("read"):
            root = self._path.stat()
        user = os.geteuid()
        if root.st_uid == user:
            return True
        groups = {os.getegid(), *os.getgroups()}
        is_shared = bool(root.st_mode & stat.S_IWGRP) and root.st_gid in groups
        return is_shared and user != 0

    @bounded
    def read(self, name: str) -> bytes | None:
        with self.wrapped_errors("read"), self._may_be_missing():
            self._root.look()
            with suppress(FileNotFoundError, NotADirectoryError):
                return read_path(self._path / self.folder / name)
            # Only what is missing below the very folder that this process knows is missing.
            with self._root.opened() as root:
                return read_whole(root, Path(self.folder, name))
        return None

    @bounded
    def read_range(self, name: str, start: int, end: int) -> bytes:
        with self.wrapped_errors("read"), (self._path / self.folder / name).open("rb") as file:
            file.seek(start)
            return file.read(end - start)

    def names(self, folder: str) -> list[str]:
        """List the full names of the objects directly in a folder, sorted; none if it is missing."""
        entries = self._entries(folder, is_file)
        return [f"{folder}/{name}" for name, is_object in entries if is_object]

    def sizes(self, folder: str) -> dict[str, int]:
        """Return the sizes in bytes of the objects directly in a folder, by their full names."""
        entries = self._entries(folder, size_of)
        return {f"{folder}/{name}": size for name, size in entries if size is not None}

    def folders(self, folder: str, after: str = "") -> list[str]:
        """List the folders directly in a folder, by the last part of their names, sorted; those that sort after one."""
        entries = self._entries(folder, is_file)
        return [name for name, is_object in entries if name > after and not is_object]

    @bounded
    def delete(self, name: str) -> None:
        """Delete an object; a missing one is no error."""
        with self.wrapped_errors("written"), suppress(FileNotFoundError), self._root.opened() as root:
            unlink(root, Path(self.folder, name))

    @bounded
    def unfinished_writes(self) -> dict[str, int]:
        """Return the sizes in bytes of what killed processes had begun to write, by name; a week passed since."""
        drafts: dict[str, os.stat_result] = {}
        newest = 0.0
        with self.wrapped_errors("read"), suppress(FileNotFoundError), self._root.opened():
            for folder, _, files in os.walk(self._path):
                for file in files:
                    path = Path(folder, file)
                    with suppress(FileNotFoundError):
                        facts = path.stat()
                        newest = max(newest, facts.st_mtime)
                        if file.startswith(DRAFT):
                            drafts[str(path.relative_to(self._path))] = facts
        # The clock is that of the file system: something else was written into the store a week later. This machine's
        # may be wrong, and a draft that another process still writes would be deleted.
        last_old = newest - _NOBODYS_SECONDS
        return {name: facts.st_size for name, facts in drafts.items() if facts.st_mtime < last_old}

    def _write(self, name: str, content: bytes, put: Put) -> None:
        with self.wrapped_errors("written"), self._root.opened_to_write() as root:
            write_whole(root, Path(self.folder, name), content, put)

    @bounded
    def _entries(self, folder: str, fact: Callable[[int, os.DirEntry[str]], Fact]) -> list[tuple[str, Fact]]:
        """Return the names in a folder, sorted, each with a fact; what went meanwhile has none."""
        with self.wrapped_errors("read"), self._may_be_missing(), self._root.opened() as root:
            return scanned(root, Path(self.folder, folder), fact)
        return []

    @contextmanager
    def _may_be_missing(self) -> Iterator[None]:
        """End quietly if an object or a folder is missing. A store that is a file is a mistake, not an empty one."""
        try:
            yield
        except FileNotFoundError:
            return
        except NotADirectoryError as error:
            for path in (self._path, *self._path.parents):
                if path.is_file():
                    raise ResultsError(f"The {self._called} {self.url} cannot be used: {path} is a file.") from error

    @contextmanager
    def wrapped_errors(self, what: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            cannot = f"The {self._called} {self.url} cannot be {what} ({error.strerror})."
            raise ResultsError(cannot, is_outage=error.errno in DISK_FAILS) from error


def _read_at(root: int, path: Path) -> bytes | None:
    try:
        return read_whole(root, path)
    except FileNotFoundError:
        return None


def delete_all(store: Store, names: Iterable[str]) -> None:
    for _ in some_at_once(names, store.delete, REQUESTS_AT_ONCE):
        continue


def numbered(store: Store, folder: str) -> list[int]:
    """List the folders in a folder that are named by numbers; others are not ours."""
    return [int(name) for name in store.folders(folder) if name.isdecimal()]


def damaged(store: Store, name: str, why: str) -> ResultsError:
    return ResultsError(f"{name} in the results store {store.url} is damaged: {why}. Restore it from a backup.")


@contextmanager
def damage_named() -> Iterator[None]:
    """Name what is damaged in a line, and go on after the work inside; an outage is raised."""
    try:
        yield
    except ResultsError as error:
        if error.is_outage:
            raise
        say(error.message)


def read_required(store: Store, name: str) -> bytes:
    """Read an object that must be there; ResultsError if it is missing."""
    content = store.read(name)
    if content is None:
        raise ResultsError(f"{name} is missing from the results store {store.url}.")
    return content


def read_document(store: Store, name: str, kind: TypeAdapter[Document]) -> Document | None:
    """Read a JSON document; None if there is none of the name. ResultsError if it is not whole."""
    content = store.read(name)
    if content is None:
        return None
    try:
        return kind.validate_json(content)
    except ValueError as damage:
        raise damaged(store, name, "it is not whole") from damage


def json_bytes(document: object) -> bytes:
    text = json.dumps(document, indent=2, ensure_ascii=False, default=str)
    return text.encode("utf-8", "replace") + b"\n"


def sha256_hex(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
