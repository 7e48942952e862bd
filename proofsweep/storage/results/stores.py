"""The port to a results store, and its folder side: small objects, each created once.

Only a leg's heartbeat and derived snapshots are ever replaced or lose their value; all other objects are immutable.
"""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from proofsweep.errors import CatalogError, NameTaken, ResultsError
from proofsweep.storage.locations import BUCKETS, is_bucket, path_of


class Store(Protocol):
    """A tree of objects with names like `verdicts/run_date=2026-11-20/a.parquet`."""

    @property
    def url(self) -> str:
        """Where it is, for a person; holds no credentials."""
        ...

    def create(self, name: str, content: bytes) -> None:
        """Make an object that stands whole or not at all.

        Raises:
            NameTaken: there is one of that name.
            ResultsError: the store cannot be written.
        """
        ...

    def replace(self, name: str, content: bytes) -> None:
        """Write an object over the one of that name, if there is one; a reader sees the old or the new one, whole.

        Raises:
            ResultsError: the store cannot be written.
        """
        ...

    def read(self, name: str) -> bytes | None:
        """Give an object's content; None when there is none."""
        ...

    def names(self, folder: str) -> list[str]:
        """List the full names of the objects right below a folder, sorted; of a missing folder, none."""
        ...

    def folders(self, folder: str) -> list[str]:
        """List the last parts of the names of the folders right below a folder, sorted."""
        ...

    def delete(self, name: str) -> None:
        """Take an object away; a missing one is no error."""
        ...


class FolderStore:
    """A results store in a folder of this machine; objects survive a power cut once created."""

    def __init__(self, root: Path) -> None:
        self._root = root

    @property
    def url(self) -> str:
        """The folder's path."""
        return str(self._root)

    def create(self, name: str, content: bytes) -> None:
        """Make a file and, where they are missing, its folders."""
        path = self._root / name
        try:
            _make_folder(path.parent)
            is_ours = _was_created(path, content)
        except OSError as error:
            raise ResultsError(f"The results store {self.url} cannot be written ({error.strerror}).") from error
        if not is_ours:
            raise NameTaken(f"{name} exists already.")

    def replace(self, name: str, content: bytes) -> None:
        """Put a file in the place of the old one; it need not survive a power cut, so nothing is synced."""
        path = self._root / name
        try:
            _make_folder(path.parent)
            with _draft_beside(path) as draft:
                draft.write_bytes(content)
                draft.replace(path)
        except OSError as error:
            raise ResultsError(f"The results store {self.url} cannot be written ({error.strerror}).") from error

    def read(self, name: str) -> bytes | None:
        """Read the file, if there is one."""
        try:
            return (self._root / name).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise ResultsError(f"The results store {self.url} cannot be read ({error.strerror}).") from error

    def names(self, folder: str) -> list[str]:
        """List files; drafts of unfinished writes are not objects."""
        return [f"{folder}/{entry.name}" for entry in self._entries(folder) if entry.is_file()]

    def folders(self, folder: str) -> list[str]:
        """List sub-folders."""
        return [entry.name for entry in self._entries(folder) if entry.is_dir()]

    def delete(self, name: str) -> None:
        """Remove the file, if it is there."""
        try:
            (self._root / name).unlink(missing_ok=True)
        except OSError as error:
            raise ResultsError(f"The results store {self.url} cannot be written ({error.strerror}).") from error

    def _entries(self, folder: str) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(self._root / folder) as entries:
                return sorted(
                    (entry for entry in entries if not entry.name.startswith(".")), key=lambda entry: entry.name
                )
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise ResultsError(f"The results store {self.url} cannot be read ({error.strerror}).") from error


def open_store(url: str) -> Store:
    """Open the results store at a folder's path, `file://` URL or bucket URL; nothing is made or asked yet.

    Raises:
        ResultsError: the location is of a kind that cannot be written, or holds credentials.
    """
    scheme, has_scheme, rest = url.partition("://")
    if not has_scheme:
        return FolderStore(Path(url).expanduser().absolute())
    if scheme == "file":
        return FolderStore(Path(rest).absolute())
    if is_bucket(url):
        from proofsweep.storage.results.bucket_store import BucketStore  # noqa: PLC0415 - a folder has no need

        try:
            return BucketStore(path_of(url, "/"))
        except CatalogError as error:
            raise ResultsError(f"The results store cannot be used: {error.message}.") from error
    kinds = ", ".join(f"{each}://" for each in sorted(BUCKETS))
    raise ResultsError(f"A results store at {scheme}:// is not supported; give a folder, or a URL of {kinds}.")


def _make_folder(folder: Path) -> None:
    """Make a folder and those above it that are missing, each to be found after a power cut too."""
    if not folder.is_dir():
        _make_folder(folder.parent)
        folder.mkdir(exist_ok=True)
        _make_durable(folder.parent)


def _was_created(path: Path, content: bytes) -> bool:
    """Write beside, make durable, then link: a name exists only with its whole content. False when it is taken."""
    try:
        with _draft_beside(path) as draft:
            _write_durably(draft, content)
            path.hardlink_to(draft)
    except FileExistsError:
        return False
    _make_durable(path.parent)
    return True


@contextmanager
def _draft_beside(path: Path) -> Iterator[Path]:
    """Name a hidden file in the same folder; it is gone afterwards."""
    draft = path.parent / f".draft-{secrets.token_hex(8)}"
    try:
        yield draft
    finally:
        draft.unlink(missing_ok=True)


def _write_durably(path: Path, content: bytes) -> None:
    with path.open("xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _make_durable(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
