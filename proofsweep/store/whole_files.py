"""Files below an open folder, each written beside its name first, so that a reader sees it whole or not at all."""

import errno
import os
import secrets
from collections.abc import Callable
from contextlib import suppress
from operator import itemgetter
from pathlib import Path
from typing import IO, TypeVar

from proofsweep.config.locations import share_with_folder, sync_file, sync_folder

DRAFT = ".draft-"  # begins the name of what is being written

# What file systems without hard links answer to one: FAT, some shares, and FUSE.
_WITHOUT_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS})

Fact = TypeVar("Fact")
Put = Callable[[int, Path, Path], None]


class NoHardLinks(OSError):
    """Without them, no file can be named that is whole and is refused where the name is taken."""

    def __init__(self, error: int) -> None:
        super().__init__(error, "its file system has no hard links, without which objects could be overwritten")


def write_whole(root: int, path: Path, content: bytes, put: Put) -> None:
    """Write a file and the missing folders above it; it survives a power cut. `put` gives the draft its name."""
    draft = path.parent / f"{DRAFT}{secrets.token_hex(8)}"
    _make_folders(root, path.parent)
    try:
        # The content is on the disk before the name is: a power cut leaves a whole file, or none of this name.
        with open_below(root, draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL) as file:
            file.write(content)
            sync_file(file)
        share_with_folder(draft, root)
        put(root, draft, path)
    finally:
        unlink(root, draft)
    sync_folder(path.parent, root)


def link(root: int, draft: Path, path: Path) -> None:
    """Name a draft, where the name is not taken: a rename would replace another process's file."""
    try:
        os.link(draft, path, src_dir_fd=root, dst_dir_fd=root)
    except OSError as error:
        if error.errno in _WITHOUT_LINKS:
            raise NoHardLinks(error.errno) from error
        raise


def rename(root: int, draft: Path, path: Path) -> None:
    os.replace(draft, path, src_dir_fd=root, dst_dir_fd=root)


def read_whole(root: int, path: Path) -> bytes:
    with open_below(root, path, os.O_RDONLY) as file:
        return file.read()


def read_path(path: Path) -> bytes:
    return path.read_bytes()


def scanned(root: int, folder: Path, fact: Callable[[int, os.DirEntry[str]], Fact]) -> list[tuple[str, Fact]]:
    """Return the names in a folder, sorted, each with a fact; hidden ones, and what went meanwhile, are left out."""
    facts: list[tuple[str, Fact]] = []
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY, dir_fd=root)
    try:
        with os.scandir(handle) as entries:
            for entry in entries:
                if entry.name.startswith("."):
                    continue
                with suppress(FileNotFoundError):
                    facts.append((entry.name, fact(handle, entry)))
    finally:
        os.close(handle)
    return sorted(facts, key=itemgetter(0))


def is_file(_folder: int, entry: os.DirEntry[str]) -> bool:
    return entry.is_file()


def size_of(folder: int, entry: os.DirEntry[str]) -> int | None:
    """Return the size of a file; None for a folder."""
    if not entry.is_file():
        return None
    # `entry.stat()` would stop all threads while a share hangs.
    return os.stat(entry.name, dir_fd=folder).st_size


def unlink(root: int, path: Path) -> None:
    """Delete a file; a missing one is no error."""
    try:
        os.unlink(path, dir_fd=root)
    except FileNotFoundError:
        return


def open_below(root: int, path: Path, flags: int) -> IO[bytes]:
    mode = "wb" if flags & os.O_WRONLY else "rb"
    handle = os.open(path, flags, 0o666, dir_fd=root)
    return os.fdopen(handle, mode)


def _make_folders(root: int, folder: Path) -> None:
    """Make the missing folders, each durable in the one above; the root is there."""
    missing: list[Path] = []
    while folder != Path() and not _is_folder(root, folder):
        missing.append(folder)
        folder = folder.parent
    for made in reversed(missing):
        try:
            os.mkdir(made, dir_fd=root)
        except FileExistsError:
            continue
        sync_folder(made.parent, root)
        share_with_folder(made, root)


def _is_folder(root: int, folder: Path) -> bool:
    try:
        os.stat(f"{folder}/", dir_fd=root)
    except FileNotFoundError:
        return False
    return True
