"""Download the assets of proofs, each into a file without a name."""

import os
import tempfile
from collections.abc import Iterable
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
_NO_ASSET = "The service has no one-file artifact of this proof (404): it is of a legacy pair, erased, or pending."


class AssetFile(LocalFile):
    """A file without a name, with the last body of a download."""

    def __init__(self, most_bytes: int) -> None:
        """Make it in the folder for temporary files (TMPDIR); RunMustStop if that cannot be."""
        try:
            with tempfile.TemporaryFile() as file:
                super().__init__(os.dup(file.fileno()))
        except OSError as error:
            raise _no_room(error) from error
        self.error: ProofsweepError | None = None  # why the body is not whole, unless the connection broke
        self._most_bytes = most_bytes

    def facts(self) -> FileFacts:
        """Return its size; the service names no version of an asset, and nobody else can change the file."""
        return FileFacts(os.fstat(self._descriptor).st_size, version="")

    def take(self, pieces: Iterable[bytes], size_bytes: int | None = None) -> None:
        """Write a body, whose size may be announced, in place of the last one; what hinders it is kept in `error`."""
        self.error = None
        try:
            self._write(pieces, size_bytes or 0)
        except OSError as error:
            self.error = _no_room(error)
        except SourceError as error:
            self.error = error

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


def download_asset(partner: Partner, proof_id: str, most_bytes: int) -> AudioFile:
    """Return the asset of a proof as an audio file: (1) GET the asset's URL, (2) GET the asset.

    Raises:
        CallFailed: it cannot be had.
        RunMustStop: the leg ends, also where the disk has no room: that says nothing about the proof.
        SourceError: `no_asset`, or `too_large` above `most_bytes`.
    """
    try:
        with ExitStack() as unless_kept:
            file = unless_kept.enter_context(AssetFile(most_bytes))
            _download(partner, proof_id, file.take)
            if file.error is not None:
                raise file.error
            unless_kept.pop_all()
            return AudioFile(file)
    except RunMustStop as reason:
        partner.session.stop.pull(reason)
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


def _no_room(error: OSError) -> RunMustStop:
    why = f"An asset cannot be written to the folder for temporary files ({error.strerror}): make room, or set TMPDIR."
    return RunMustStop(why, ended_by=EndedBy.BREAKER)
