"""Download the assets of proofs, each into a file without a name."""

import os
import tempfile
from collections.abc import Iterable
from contextlib import ExitStack
from http import HTTPStatus

from proofsweep.client.client import Partner
from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import CallFailed, ProofsweepError, RunMustStop, SourceError
from proofsweep.domain.exchanges import Call
from proofsweep.domain.items import FileFacts
from proofsweep.domain.reasons import Reason
from proofsweep.sources.audio import AudioFile
from proofsweep.sources.files import LocalFile

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

    def take(self, pieces: Iterable[bytes]) -> None:
        """Write a body in place of the last one; what hinders it is kept in `error`."""
        self.error = None
        try:
            self._write(pieces)
        except OSError as error:
            self.error = _no_room(error)
        except SourceError as error:
            self.error = error

    def _write(self, pieces: Iterable[bytes]) -> None:
        with os.fdopen(self._descriptor, "wb", closefd=False) as file:
            file.seek(0)
            file.truncate()
            for piece in pieces:
                if file.tell() + len(piece) > self._most_bytes:
                    what = f"The asset has more than {self._most_bytes:,} bytes."
                    raise SourceError(what, reason=Reason.TOO_LARGE)
                file.write(piece)


def download_asset(partner: Partner, proof_id: str, most_bytes: int) -> AudioFile:
    """Return the asset of a proof as an audio file: (1) GET the asset's URL, (2) GET the asset.

    SourceError: `no_asset`, or `too_large` above `most_bytes`. RunMustStop also where the disk has no room: that says
    nothing about the proof.
    """
    try:
        with ExitStack() as unless_kept:
            file = unless_kept.enter_context(AssetFile(most_bytes))
            partner.download(partner.asset_url(proof_id), file.take)  # (1), (2)
            if file.error is not None:
                raise file.error
            unless_kept.pop_all()
            return AudioFile(file)
    except CallFailed as error:
        if error.stage == Call.ASSET and error.status == HTTPStatus.NOT_FOUND:
            raise SourceError(_NO_ASSET, reason=Reason.NO_ASSET) from error
        raise
    except RunMustStop as reason:
        partner.session.stop.pull(reason)
        raise


def _no_room(error: OSError) -> RunMustStop:
    why = f"An asset cannot be written to the folder for temporary files ({error.strerror}): make room, or set TMPDIR."
    return RunMustStop(why, ended_by=EndedBy.BREAKER)
