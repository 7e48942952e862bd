"""A results store in a folder: a file appears under its name only when its content is whole."""

import fcntl
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from operator import attrgetter
from pathlib import Path
from typing import IO

from proofsweep.config.durable import make_folder, sync_file, sync_folder
from proofsweep.domain.errors import NameTaken, ResultsError


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
