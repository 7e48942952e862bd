"""Download the asset of a proof, so that it is verified as an audio file (contract, Endpoints 8)."""

from contextlib import ExitStack
from http import HTTPStatus

from proofsweep.client.client import Partner
from proofsweep.domain.errors import CallFailed, RunMustStop, SourceError
from proofsweep.domain.exchanges import Call
from proofsweep.domain.reasons import Reason
from proofsweep.sources.asset_files import AssetFile, AssetFiles
from proofsweep.sources.audio import AudioFile

_MOST_URLS = 3  # URLs of one asset that are asked for
# Statuses of a download whose short-lived URL has expired (contract, Endpoints 8).
_EXPIRED_STATUSES = frozenset({HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND, HTTPStatus.GONE})
_ROOM_CHECK_SECONDS = 0.2  # how soon an item sees that others have made room
_NO_ASSET = "The service has no one-file artifact of this proof (404): it is of a legacy pair, erased, or pending."


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
        with ExitStack() as unless_kept:
            while (file := files.new(most_bytes)) is None:
                stop.rest(_ROOM_CHECK_SECONDS)
            _fill(unless_kept.enter_context(file), partner, proof_id)
            audio = AudioFile(file)
            unless_kept.pop_all()
            return audio
    except RunMustStop as reason:
        stop.pull(reason)
        raise


def _fill(file: AssetFile, partner: Partner, proof_id: str) -> None:
    for urls in range(1, _MOST_URLS + 1):
        try:
            partner.download(partner.asset_url(proof_id), file.take)  # (1), (2)
            break
        except CallFailed as error:
            if error.stage == Call.ASSET and error.status == HTTPStatus.NOT_FOUND:
                raise SourceError(_NO_ASSET, reason=Reason.NO_ASSET) from error
            if error.stage != Call.DOWNLOAD or error.status not in _EXPIRED_STATUSES or urls == _MOST_URLS:
                raise
    if file.error is not None:
        raise file.error
