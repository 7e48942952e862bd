"""The disk below moves of files: each step takes a moment, and before or after each a process may be killed.

A killed process makes no step any more, not even one that its code would make on its way out. The watched folder and
its targets may be shares, which go away or fail.
"""

import errno
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path, PosixPath
from typing import IO, Any

from kernel import current_process, here

from proofsweep.domain.items import FileFacts
from proofsweep.files import mounts, moving, presence
from proofsweep.files.files import Files
from proofsweep.files.open_file import OpenFile
from proofsweep.ingest import disposal, watched_folder

_STEP_SECONDS = 0.001


@dataclass(slots=True)
class Shares:
    mounted: set[str] = field(default_factory=set)  # where a share lies now
    seen: set[str] = field(default_factory=set)  # where a process has found one
    unlisted: set[str] = field(default_factory=set)  # folders that cannot be listed now
    unread: set[str] = field(default_factory=set)  # folders in which no file can be opened by its path now
    at_steps: dict[int, Callable[[], None]] = field(default_factory=dict)  # what happens before which step of moves
    steps: int = 0  # of all processes

    def clear(self) -> None:
        for each in (self.mounted, self.seen, self.unlisted, self.unread, self.at_steps):
            each.clear()
        self.steps = 0

    def mount_of(self, location: str) -> str:
        found = next((each for each in self.mounted if f"{location}/".startswith(f"{each}/")), "/")
        self.seen.add(found)
        return found


SHARES = Shares()  # of the world that is played


def rest() -> None:
    """Let a moment pass, in which the process may be killed or frozen."""
    here().sleep(_STEP_SECONDS)


class _Step:
    """One change of the disk."""

    def __enter__(self) -> None:
        process = here().require_life().process
        process.steps += 1
        SHARES.steps += 1
        SHARES.at_steps.pop(SHARES.steps, lambda: None)()
        self._count = process.steps
        if process.dies_at_step == (self._count, False):
            here().die()

    def __exit__(self, *_: object) -> None:
        process = current_process()
        if process is not None and process.dies_at_step == (self._count, True):
            here().die()
        rest()


class DiskPath(PosixPath):
    def unlink(self, missing_ok: bool = False) -> None:
        with _Step():
            super().unlink(missing_ok)

    def rename(self, target: Any) -> "DiskPath":  # noqa: ANN401 - as in `pathlib`
        with _Step():
            return DiskPath(super().rename(target))

    def hardlink_to(self, target: Any) -> None:  # noqa: ANN401 - as in `pathlib`
        with _Step():
            super().hardlink_to(target)

    def rmdir(self) -> None:
        with _Step():
            super().rmdir()

    def mkdir(self, mode: int = 0o777, parents: bool = False, exist_ok: bool = False) -> None:
        with _Step():
            super().mkdir(mode, parents, exist_ok)

    def open(self, mode: str = "r", *given: Any, **named: Any) -> IO[Any]:  # type: ignore[override]  # noqa: ANN401 - as in `pathlib`
        with _Step():
            return super().open(mode, *given, **named)


class DiskFiles(Files):
    def facts(self, location: str) -> FileFacts | None:
        rest()
        return super().facts(location)

    def open(self, location: str, *, is_whole: bool = False) -> OpenFile | None:
        rest()
        return super().open(location, is_whole=is_whole)


def _failing(act: Callable[..., Any], fails: Callable[[str], bool], number: int) -> Callable[..., Any]:
    def call(path: Any = ".", *given: Any, **named: Any) -> Any:  # noqa: ANN401 - as the call has it
        if current_process() is not None and isinstance(path, str) and fails(path):
            raise OSError(number, os.strerror(number), path)
        return act(path, *given, **named)

    return call


def _make_folder(folder: Path, rights: int) -> list[Path]:
    Path(folder).mkdir(rights, parents=True, exist_ok=True)
    return []


def replace_disk() -> None:
    os.scandir = _failing(os.scandir, SHARES.unlisted.__contains__, errno.ENOTCONN)
    os.open = _failing(os.open, lambda path: any(path.startswith(f"{each}/") for each in SHARES.unread), errno.EIO)
    presence.mount_of = mounts.mount_of = disposal.mount_of = SHARES.mount_of
    moving.Path = DiskPath
    moving.Files = watched_folder.Files = DiskFiles
    moving.sync_file = lambda _file: rest()
    moving.sync_folder = lambda _folder: rest()
    moving.make_folder = _make_folder
