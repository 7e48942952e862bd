"""Files that no folder lists, each for one download: the system frees them even if this process is killed."""

import os
import tempfile
import threading
from collections.abc import Callable, Iterable

from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import ProofsweepError, RunMustStop, SourceError
from proofsweep.domain.items import FileFacts
from proofsweep.domain.reasons import Reason
from proofsweep.sources.local_files import LocalFile


class AssetFile(LocalFile):
    """One such file with its last body; `error` says why that is not whole, unless the connection broke."""

    def __init__(self, descriptor: int, most_bytes: int, note_closed: Callable[[], None]) -> None:
        super().__init__(descriptor)
        self.error: ProofsweepError | None = None
        self._most_bytes = most_bytes
        self._note_closed = note_closed

    def facts(self) -> FileFacts:
        """Return its size; the service names no version of an asset, and nobody else can change the file."""
        return FileFacts(os.fstat(self._descriptor).st_size, version="")

    def take(self, pieces: Iterable[bytes], size_bytes: int | None = None) -> None:
        """Write a body, whose size may be announced, in place of the last one; what hinders it is kept in `error`."""
        self.error = None
        try:
            os.ftruncate(self._descriptor, 0)
            self._write(pieces, size_bytes or 0)
        except OSError as error:
            self.error = _no_room(str(error.strerror))
        except SourceError as error:
            self.error = error

    def close(self) -> None:
        super().close()
        self._note_closed()

    def _write(self, pieces: Iterable[bytes], announced_bytes: int) -> None:
        position = 0
        self._refuse_beyond(announced_bytes)
        for piece in pieces:
            self._refuse_beyond(position + len(piece))
            rest = memoryview(piece)
            while rest:
                written = os.pwrite(self._descriptor, rest, position)
                position, rest = position + written, rest[written:]

    def _refuse_beyond(self, size_bytes: int) -> None:
        if size_bytes > self._most_bytes:
            raise SourceError(f"The asset has more than {self._most_bytes:,} bytes.", reason=Reason.TOO_LARGE)


class AssetFiles:
    """Makes them in the folder for temporary files (TMPDIR) while its disk has room; safe to use from threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open = 0

    def new(self, most_bytes: int) -> AssetFile | None:
        """Return an empty file for so many bytes; None where one must be closed first; RunMustStop without room."""
        with self._lock:
            try:
                with tempfile.TemporaryFile() as file:
                    disk = os.fstatvfs(file.fileno())
                    if disk.f_bavail * disk.f_frsize < most_bytes * (self._open + 1):  # each may still grow as large
                        if self._open:
                            return None
                        raise _no_room(f"fewer than {most_bytes:,} bytes are free")
                    descriptor = os.dup(file.fileno())
            except OSError as error:
                raise _no_room(str(error.strerror)) from error
            self._open += 1
        return AssetFile(descriptor, most_bytes, self._note_closed)

    def _note_closed(self) -> None:
        with self._lock:
            self._open -= 1


def _no_room(why: str) -> RunMustStop:
    message = f"An asset cannot be written to the folder for temporary files ({why}): make room, or set TMPDIR."
    return RunMustStop(message, ended_by=EndedBy.BREAKER)
