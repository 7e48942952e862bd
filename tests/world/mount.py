"""A folder as the results store of a world: a mounted share in memory, which may go and leave an empty mount point.

It stands at the seam of `store/whole_files`, with the weather and the kills of the bucket. A handle keeps the folder
that it was opened for, mounted or not, as that of a real one does.
"""

import errno
import itertools
import os
import types
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bucket import Bucket
from kernel import here
from obstore import exceptions

FOLDER = "/world/results"
MARKER = "_store.json"
_KEYS = "results"


class Mount:
    """The share of a world, or its empty mount point."""

    bucket: Bucket
    _handles: dict[int, dict[str, bytes]]

    @classmethod
    def begin(cls, bucket: Bucket) -> None:
        """Let the store stand there, as `doctor` begins one that must exist."""
        cls.bucket, cls._handles, cls._numbers = bucket, {}, itertools.count(-3, -1)  # of the system none is negative
        bucket.objects[_key(MARKER)] = b"the store\n"
        bucket.written_at[_key(MARKER)] = 0.0

    # --- In the words of `os`, for the root

    @classmethod
    def open(cls, _path: Path, _flags: int) -> int:
        _pause()
        handle = next(cls._numbers)
        cls._handles[handle] = cls.bucket.objects
        return handle

    @classmethod
    def close(cls, handle: int) -> None:
        del cls._handles[handle]

    @classmethod
    def fstat(cls, handle: int) -> Any:  # noqa: ANN401 - as in `os`
        is_mounted = cls._handles[handle] is (cls.bucket.kept if cls.bucket.kept is not None else cls.bucket.objects)
        return types.SimpleNamespace(st_dev=1 + is_mounted, st_ino=1)

    @classmethod
    def listdir(cls, handle: int) -> list[str]:
        return [key.split("/")[1] for key in cls._handles[handle]]

    # --- In the words of `store/whole_files`

    @classmethod
    def write_whole(cls, root: int, path: Path, content: bytes, put: Any) -> None:  # noqa: ANN401 - a function
        put(root, content, path)

    @classmethod
    def link(cls, root: int, draft: Any, path: Path) -> None:  # noqa: ANN401 - the content
        with _os_errors():
            cls.bucket.put(cls._handles[root], _key(path), draft, mode="create")

    @classmethod
    def rename(cls, root: int, draft: Any, path: Path) -> None:  # noqa: ANN401 - the content
        with _os_errors():
            cls.bucket.put(cls._handles[root], _key(path), draft, mode="overwrite")

    @classmethod
    def read_whole(cls, root: int, path: Path) -> bytes:
        with _os_errors():
            return cls.bucket.get(cls._handles[root], _key(path)).bytes()

    @classmethod
    def read_path(cls, path: Path) -> bytes:
        with _os_errors():
            return cls.bucket.get(None, _key(path.relative_to(FOLDER))).bytes()

    @classmethod
    def unlink(cls, root: int, path: Path) -> None:
        with _os_errors():
            cls.bucket.delete(cls._handles[root], _key(path))

    @staticmethod
    def is_file(_folder: int, size: int | None) -> bool:
        return size is not None

    @staticmethod
    def size_of(_folder: int, size: int | None) -> int | None:
        return size

    @classmethod
    def scanned(cls, root: int, folder: Path, fact: Any) -> list[tuple[str, Any]]:  # noqa: ANN401 - as the core has it
        with _os_errors():
            listed = cls.bucket.list_with_delimiter(cls._handles[root], f"{_key(folder)}/")
        sizes = {each["path"].rpartition("/")[2]: each["size"] for each in listed["objects"]}
        sizes |= {prefix.rpartition("/")[2]: None for prefix in listed["common_prefixes"]}
        return sorted((name, fact(root, size)) for name, size in sizes.items())


@contextmanager
def _os_errors() -> Iterator[None]:
    """Let the words of the bucket be those of a file system."""
    try:
        yield
    except exceptions.AlreadyExistsError as error:
        raise FileExistsError(errno.EEXIST, "File exists") from error
    except exceptions.GenericError as error:
        raise OSError(errno.EIO, "Input/output error") from error


def _key(path: Path | str) -> str:
    return f"{_KEYS}/{path}"


def _pause() -> None:
    world = here()
    if world.current is not None:
        world.require_life()
        world.may_pause()


def replace_folders() -> None:
    """Let stores in folders be in the share of the world."""
    from proofsweep.store import folder_root, latest, objects, whole_files

    system = {name: getattr(os, name) for name in ("O_RDONLY", "O_DIRECTORY")}
    calls = {name: _of_either(os, name) for name in ("open", "close", "fstat", "listdir")}
    folder_root.os = types.SimpleNamespace(**system, **calls)
    for name in ("link", "read_whole", "write_whole"):
        setattr(folder_root, name, _of_either(whole_files, name))
    for name in ("link", "read_path", "read_whole", "rename", "scanned", "unlink", "write_whole", "is_file", "size_of"):
        setattr(objects, name, _of_either(whole_files, name))
    objects.FolderStore._is_ours = lambda _self: True
    latest.FolderStore = ()  # DuckDB is given copies, as of a bucket


def _of_either(module: Any, name: str) -> Any:  # noqa: ANN401 - a function
    """Return a function that works on the share of the world, and on real folders, which checks look at, as it did."""
    of_system, of_world = getattr(module, name), getattr(Mount, name)

    def call(where: Path | int, *given: Any) -> Any:  # noqa: ANN401 - as in the core
        is_ours = where < 0 if isinstance(where, int) else where.is_relative_to(FOLDER)
        return (of_world if is_ours else of_system)(where, *given)

    return call
