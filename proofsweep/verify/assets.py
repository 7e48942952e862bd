"""Download the assets of proofs, each into a file without a name, while the disk for temporary files has room."""

import os
import tempfile
import threading
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from http import HTTPStatus

from proofsweep.client.client import Partner
from proofsweep.client.reply import TakeBody
from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import CallFailed, ProofsweepError, RunMustStop, SourceError
from proofsweep.domain.exchanges import Call
from proofsweep.domain.items import FileFacts
from proofsweep.domain.reasons import Reason
from proofsweep.sources.audio import AudioFile
from proofsweep.sources.files import LocalFile

_MOST_URLS = 3  # URLs of one asset that are asked for
# Statuses of a download whose short-lived URL has expired (contract, Endpoints 8).
_EXPIRED_STATUSES = frozenset({HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND, HTTPStatus.GONE})
_ROOM_CHECK_SECONDS = 0.2  # how soon an item sees that others have made room
_NO_ASSET = "The service has no one-file artifact of this proof (404): it is of a legacy pair, erased, or pending."


class AssetFile(LocalFile):
    """A file without a name, with the last body of a download."""

    def __init__(self, descriptor: int, most_bytes: int, note_closed: Callable[[], None]) -> None:
        super().__init__(descriptor)
        self.error: ProofsweepError | None = None  # why the body is not whole, unless the connection broke
        self._most_bytes = most_bytes
        self._note_closed = note_closed

    def facts(self) -> FileFacts:
        """Return its size; the service names no version of an asset, and nobody else can change the file."""
        return FileFacts(os.fstat(self._descriptor).st_size, version="")

    def take(self, pieces: Iterable[bytes], size_bytes: int | None = None) -> None:
        """Write a body, whose size may be announced, in place of the last one; what hinders it is kept in `error`."""
        self.error = None
        try:
            self._write(pieces, size_bytes or 0)
        except OSError as error:
            self.error = _no_room(str(error.strerror))
        except SourceError as error:
            self.error = error

    def close(self) -> None:
        super().close()
        self._note_closed()

    def _write(self, pieces: Iterable[bytes], announced_bytes: int) -> None:
        with os.fdopen(self._descriptor, "wb", closefd=False) as file:
            file.seek(0)
            file.truncate()
            self._refuse_beyond(announced_bytes)
            for piece in pieces:
                self._refuse_beyond(file.tell() + len(piece))
                file.write(piece)

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


def download_asset(partner: Partner, proof_id: str, files: AssetFiles, most_bytes: int) -> AudioFile:
    """Return the asset of a proof as an audio file; where the disk has no room, wait while other items may make some.

    (1) GET the asset's URL, (2) GET the asset.

    Raises:
        CallFailed: it cannot be had.
        RunMustStop: the leg ends, also for want of room: that says nothing about the proof.
        SourceError: `no_asset`, or `too_large` above `most_bytes`.
    """
    stop = partner.session.stop
    try:
        while (file := files.new(most_bytes)) is None:
            stop.rest(_ROOM_CHECK_SECONDS)
        with ExitStack() as unless_kept:
            unless_kept.enter_context(file)
            _download(partner, proof_id, file.take)
            if file.error is not None:
                raise file.error
            audio = AudioFile(file)
            unless_kept.pop_all()
            return audio
    except RunMustStop as reason:
        stop.pull(reason)
        raise


def _download(partner: Partner, proof_id: str, take: TakeBody) -> None:
    for urls in range(1, _MOST_URLS + 1):
        try:
            partner.download(partner.asset_url(proof_id), take)  # (1), (2)
            break
        except CallFailed as error:
            if error.stage == Call.ASSET and error.status == HTTPStatus.NOT_FOUND:
                raise SourceError(_NO_ASSET, reason=Reason.NO_ASSET) from error
            if error.stage != Call.DOWNLOAD or error.status not in _EXPIRED_STATUSES or urls == _MOST_URLS:
                raise


def _no_room(why: str) -> RunMustStop:
    message = f"An asset cannot be written to the folder for temporary files ({why}): make room, or set TMPDIR."
    return RunMustStop(message, ended_by=EndedBy.BREAKER)
