"""Small objects, each created once, in a folder or a bucket: an object appears when its content is whole."""

import hashlib
import json
import os
import secrets
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, Union

from pydantic import TypeAdapter

from proofsweep.config.locations import (
    BUCKET_SCHEMES,
    is_bucket,
    make_folder,
    path_of,
    share_with_folder,
    sync_file,
    sync_folder,
)
from proofsweep.config.threads import some_at_once
from proofsweep.domain.errors import CatalogError, NameTaken, ResultsError

if TYPE_CHECKING:
    from proofsweep.store.bucket_store import BucketStore

Store = Union["FolderStore", "BucketStore"]
Document = TypeVar("Document")

JSON_OBJECT = TypeAdapter(dict[str, object])

_DRAFT = ".draft-"  # begins the name of what is being written
_NOBODYS_SECONDS = 7 * 86_400

# Requests of one process that wait for a bucket together.
REQUESTS_AT_ONCE = 16


def open_store(url: str, called: str = "results store") -> Store:
    """Open the store at a folder's path, `file://` URL or bucket URL; nothing is made or requested yet.

    Messages call it so. ResultsError if the location is of another kind, or holds credentials.
    """
    scheme, has_scheme, _ = url.partition("://")
    if not has_scheme:
        try:
            return FolderStore(Path(url).expanduser().absolute(), called)
        except RuntimeError as error:
            raise ResultsError(f"The {called} cannot be used: {url} begins with the name of no user.") from error
    if scheme == "file" or is_bucket(url):
        try:
            location = path_of(url, "/")
        except CatalogError as error:
            raise ResultsError(f"The {called} cannot be used: {error.message}.") from error
        if scheme == "file":
            return FolderStore(Path(location), called)

        from proofsweep.store.bucket_store import BucketStore  # noqa: PLC0415 - only for buckets, which few have

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
        with store.wrapped_errors("written"), suppress(FileNotFoundError, NotADirectoryError, PermissionError):
            path.stat()  # a name that no disk can hold is told here, and not by the first run
        probed = FolderStore(next(each for each in (path, *path.parents) if os.path.exists(each)))  # noqa: PTH110 - False below a folder without access
    name = f"_probe-{secrets.token_hex(8)}.json"
    probed.create(name, b"{}\n")
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
    method raises ResultsError if it is not known what stands there. `BucketStore` has the same methods.
    """

    def __init__(self, root: Path, called: str = "results store") -> None:
        self._root = root
        self._called = called

    @property
    def url(self) -> str:
        """Where it is, for a person; holds no credentials."""
        return str(self._root)

    def create(self, name: str, content: bytes) -> None:
        """Make an object whose bytes stand there for good; NameTaken if other bytes stand there.

        To write the same bytes again is no error, so that a write whose answer was lost can be repeated; who must know
        that no other process has written them puts something of its own into them.
        """

        def link(draft: Path, path: Path) -> None:
            try:
                path.hardlink_to(draft)
            except OSError as error:  # NFS repeats a request whose answer was lost, and finds the name taken
                there = self.read(name)
                if there is None and not isinstance(error, FileExistsError):
                    raise
                if there != content:
                    raise NameTaken(f"{name} exists already.") from error

        self._write(name, content, link)

    def replace(self, name: str, content: bytes) -> None:
        """Make an object or overwrite it; a reader sees the old or the new one."""
        self._write(name, content, Path.replace)

    def replace_derived(self, name: str, content: bytes) -> None:
        """Do so for what each reader can make anew; only those to whom the folder belongs write it.

        Whoever else reads here, root too, would leave a file that the owner may not be able to read or to replace.
        """
        with self.wrapped_errors("read"):
            root = self._root.stat()
        is_owner = root.st_uid == os.geteuid()
        is_shared = root.st_mode & stat.S_IWGRP and root.st_gid in {os.getegid(), *os.getgroups()}
        if is_owner or (is_shared and os.geteuid() != 0):
            self.replace(name, content)

    def read(self, name: str) -> bytes | None:
        with self.wrapped_errors("read"), self._may_be_missing():
            return (self._root / name).read_bytes()
        return None

    def read_range(self, name: str, start: int, end: int) -> bytes:
        with self.wrapped_errors("read"), (self._root / name).open("rb") as file:
            file.seek(start)
            return file.read(end - start)

    def names(self, folder: str) -> list[str]:
        """List the full names of the objects directly in a folder, sorted; none if it is missing."""
        return [f"{folder}/{entry.name}" for entry in self._entries(folder) if entry.is_file()]

    def sizes(self, folder: str) -> dict[str, int]:
        """Return the sizes in bytes of the objects directly in a folder, by their full names."""
        found: dict[str, int] = {}
        for entry in self._entries(folder):
            with self.wrapped_errors("read"), suppress(FileNotFoundError):
                found |= {f"{folder}/{entry.name}": entry.stat().st_size} if entry.is_file() else {}
        return found

    def folders(self, folder: str, after: str = "") -> list[str]:
        """List the folders directly in a folder, by the last part of their names, sorted; those that sort after one."""
        return [entry.name for entry in self._entries(folder) if entry.name > after and entry.is_dir()]

    def delete(self, name: str) -> None:
        """Delete an object; a missing one is no error."""
        with self.wrapped_errors("written"):
            (self._root / name).unlink(missing_ok=True)

    def unfinished_writes(self) -> dict[str, int]:
        """Return the sizes in bytes of what killed processes had begun to write, by name; a week passed since.

        The clock is that of the file system: something else was written into the store a week later.
        """
        drafts: dict[str, os.stat_result] = {}
        newest = 0.0
        for folder, _, files in os.walk(self._root):
            for file in files:
                path = Path(folder, file)
                with suppress(FileNotFoundError), self.wrapped_errors("read"):
                    facts = path.stat()
                    newest = max(newest, facts.st_mtime)
                    if file.startswith(_DRAFT):
                        drafts[str(path.relative_to(self._root))] = facts
        return {name: facts.st_size for name, facts in drafts.items() if newest - facts.st_mtime > _NOBODYS_SECONDS}

    def _write(self, name: str, content: bytes, put: Callable[[Path, Path], object]) -> None:
        path = self._root / name
        draft = path.parent / f"{_DRAFT}{secrets.token_hex(8)}"
        with self.wrapped_errors("written"):
            for made in make_folder(path.parent):
                share_with_folder(made)
            try:
                _write_durably(draft, content)
                share_with_folder(draft)
                put(draft, path)
            finally:
                draft.unlink(missing_ok=True)
            sync_folder(path.parent)

    def _entries(self, folder: str) -> list[os.DirEntry[str]]:
        with self.wrapped_errors("read"), self._may_be_missing(), os.scandir(self._root / folder) as entries:
            visible = (entry for entry in entries if not entry.name.startswith("."))
            return sorted(visible, key=attrgetter("name"))
        return []

    @contextmanager
    def _may_be_missing(self) -> Iterator[None]:
        """End quietly if an object or a folder is missing. A store that is a file is a mistake, not an empty one."""
        try:
            yield
        except FileNotFoundError:
            return
        except NotADirectoryError as error:
            above = next((path for path in (self._root, *self._root.parents) if path.is_file()), None)
            if above is not None:
                raise ResultsError(f"The {self._called} {self.url} cannot be used: {above} is a file.") from error

    @contextmanager
    def wrapped_errors(self, what: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise ResultsError(f"The {self._called} {self.url} cannot be {what} ({error.strerror}).") from error


def _write_durably(path: Path, content: bytes) -> None:
    with path.open("xb") as file:
        file.write(content)
        sync_file(file)


def delete_all(store: Store, names: Iterable[str]) -> None:
    for _ in some_at_once(names, store.delete, REQUESTS_AT_ONCE):
        continue


def numbered(store: Store, folder: str) -> list[int]:
    """List the folders in a folder that are named by numbers; others are not ours."""
    return [int(name) for name in store.folders(folder) if name.isdecimal()]


def damaged(store: Store, name: str, why: str) -> ResultsError:
    return ResultsError(f"{name} in the results store {store.url} is damaged: {why}. Restore it from a backup.")


def read_required(store: Store, name: str) -> bytes:
    """Read an object that must be there; ResultsError if it is missing."""
    content = store.read(name)
    if content is None:
        raise ResultsError(f"{name} is missing from the results store {store.url}.")
    return content


def read_document(store: Store, name: str, kind: TypeAdapter[Document]) -> Document | None:
    """Read a JSON document; None if there is none of the name. ResultsError if it is not whole."""
    content = store.read(name)
    try:
        return None if content is None else kind.validate_json(content)
    except ValueError as damage:
        raise damaged(store, name, "it is not whole") from damage


def json_bytes(document: object) -> bytes:
    return json.dumps(document, indent=2, ensure_ascii=False, default=str).encode("utf-8", "replace") + b"\n"


def sha256_hex(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
