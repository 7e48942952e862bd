"""The disk below moves of files: each step takes a moment, and before or after each a process may be killed.

A killed process makes no step any more, not even one that its code would make on its way out.
"""

from pathlib import Path, PosixPath
from typing import IO, Any

from kernel import current_process, here

from proofsweep.domain.items import FileFacts
from proofsweep.ingest import one_pass
from proofsweep.sources import moves
from proofsweep.sources.files import Files
from proofsweep.sources.source import OpenFile

_STEP_SECONDS = 0.001


def rest() -> None:
    """Let a moment pass, in which the process may be killed or frozen."""
    here().sleep(_STEP_SECONDS)


class _Step:
    """One change of the disk."""

    def __enter__(self) -> None:
        process = here().require_life().process
        process.steps += 1
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


def replace_disk() -> None:
    moves.Path = DiskPath
    moves.Files = one_pass.Files = DiskFiles
    moves.sync_file = lambda _file: rest()
    moves.sync_folder = lambda _folder: rest()
    moves.make_folder = lambda folder: Path(folder).mkdir(parents=True, exist_ok=True)
