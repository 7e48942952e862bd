"""Write files of this machine: whole or not at all, and so that they survive a power cut."""

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from proofsweep.domain.errors import UsageError
from proofsweep.domain.text import printable


def sync_file(file: IO[bytes]) -> None:
    file.flush()
    os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def make_folder(folder: Path) -> None:
    """Make a folder and the missing ones above it, so that each survives a power cut."""
    if not folder.is_dir():
        make_folder(folder.parent)
        folder.mkdir(exist_ok=True)
        sync_folder(folder.parent)


@contextmanager
def new_file(path: Path) -> Iterator[IO[bytes]]:
    """Write beside the file, and name it when it is whole; UsageError if it exists or cannot be written."""
    draft = path.with_name(f".{path.name}-{secrets.token_hex(4)}")
    try:
        _refuse_existing(path)  # before somebody waits for the content
        with draft.open("xb") as file:
            yield file
        _refuse_existing(path)
        draft.replace(path)
    except OSError as error:
        raise UsageError(f"{printable(str(path))} cannot be written: {error.strerror or error}") from error
    finally:
        with suppress(OSError):  # what hindered the writing is said already
            draft.unlink(missing_ok=True)


def _refuse_existing(path: Path) -> None:
    if path.exists() or path.is_symlink():
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
