"""One item on its way to an outcome: what was read and asked for it so far, whatever failed meanwhile."""

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from http import HTTPStatus
from types import TracebackType
from typing import Self

from proofsweep.catalog.preflight import SizeLimits, judge_content, judge_size
from proofsweep.errors import CallFailed, RunMustStop, SourceError
from proofsweep.files.asset_files import AssetFile, AssetFiles
from proofsweep.files.audio import AudioFile, open_audio, read_sidecar
from proofsweep.files.files import Files
from proofsweep.model.exchanges import Call, Exchange
from proofsweep.model.items import FileFacts, WorkItem, proof_id_of
from proofsweep.model.outcomes import AudioRead, Deferred, Failed, Finished, Outcome, Rejected
from proofsweep.model.reasons import Reason
from proofsweep.partner.partner import Partner
from proofsweep.verify.item.duplicates import DuplicateCache, DuplicateKey

# URLs of one asset that are asked for. Chosen: half gives up at one that expired; twice asks longer for a refused one.
_MOST_URLS = 3
# Statuses of a download whose short-lived URL has expired (contract, Endpoints 8).
_EXPIRED_STATUSES = frozenset({HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND, HTTPStatus.GONE})
# How soon an item sees that others have made room. Chosen: twice as long only delays it by that much.
_ROOM_CHECK_SECONDS = 0.2
_NO_ASSET = "The service has no one-file artifact of this proof (404): it is of a legacy pair, erased, or pending."

Clock = Callable[[], datetime]
Record = Callable[[Exchange], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyContext:
    """What items are verified with.

    Attributes:
        limits: largest sizes that are sent.
        files: where audio and sidecars are read.
        clock: gives the time in UTC.
        duplicates: knows the answers for bytes that were sent before; None sends every item.
        is_as_planned: whether only the planned version of a file is sent: another one may still be written.
        assets: where the assets of proofs are while they are verified.
    """

    partner: Partner
    limits: SizeLimits
    files: Files
    clock: Clock
    duplicates: DuplicateCache | None = None
    is_as_planned: bool = False
    assets: AssetFiles = field(default_factory=AssetFiles)


class ItemWork:
    """The work on one item, by one thread. Leaving its `with` block tells the items that wait for the same bytes.

    Attributes:
        outcome: what became of the item; None while it is open.
        partner: the partner in a session of this item's own.
        sidecar: the sidecar's bytes, once they are read; None for a one-file item.
    """

    def __init__(self, item: WorkItem, context: VerifyContext, record: Record) -> None:
        self.outcome: Outcome | None = None if item.may_be_found else item.ineligible
        self.sidecar: bytes | None = None
        self._item = item
        self._context = context
        self._record = record
        self._exchanges: list[Exchange] = []
        self._started_at = context.clock()
        self._audio: AudioFile | None = None
        self._asset: AudioFile | None = None
        self._kept = ExitStack()
        self._duplicate_key: DuplicateKey | None = None
        self._original: Finished | None = None
        self._done: Finished | Deferred | None = None
        self.partner = context.partner.in_new_session(self.note)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Free the item's asset, and tell the duplicates what became of the item."""
        self._kept.close()
        if self._context.duplicates is not None and self._duplicate_key is not None:
            self._context.duplicates.settle(self._duplicate_key, self._done)

    def open_audio(self) -> AbstractContextManager[AudioFile]:
        """Open the item's audio, or download the asset of its proof, once; SourceError when it cannot be read."""
        proof_id = proof_id_of(self._item.audio)
        if proof_id is not None:
            return nullcontext(self._asset or self._downloaded(proof_id))
        with ExitStack() as unless_kept:
            audio = unless_kept.enter_context(open_audio(self._item.audio, self._context.files, is_sent=True))
            self._require_planned(self._item.audio_version, audio.facts)
            unless_kept.pop_all()
        self._audio = audio
        return audio

    def _downloaded(self, proof_id: str) -> AudioFile:
        asset = _download(self.partner, proof_id, self._context.assets, self._context.limits.one_file)
        self._audio = self._asset = self._kept.enter_context(asset)
        return asset

    def outcome_without_call(self, audio: AudioFile) -> Outcome | None:
        """Judge the files by their content and look for an answer to the same bytes; None when the service must say."""
        mode, limits = self._item.mode, self._context.limits
        unfit = judge_size(audio.facts, limits.audio(mode)) or judge_content(
            audio.audio_format, mode, audio.content_guess
        )
        if unfit is not None:
            return unfit
        if self._item.sidecar is not None:
            self.sidecar = read_sidecar(self._item.sidecar, limits.sidecar, self._context.files)
            if self._context.is_as_planned:
                self._require_planned(self._item.sidecar_version, self._context.files.facts(self._item.sidecar))
        self._find_original(audio)
        return None if self._original is None else self._original.outcome

    def unless_source_changed(self, outcome: Outcome) -> Outcome:
        """Turn a rejection of files that are no longer what was sent into a failure: a delivery may still be going on.

        Only a rejection is checked, since it blames the supplier: one stat for a local file, one HEAD for an object.
        """
        if not isinstance(outcome, Rejected) or self._asset is not None or not self._has_source_changed():
            return outcome
        self._original = None
        detail = "The file changed while it was verified: the service rejected bytes that are no longer there."
        return Failed(reason=Reason.SOURCE_CHANGED, detail=detail)

    def finished(self, outcome: Outcome) -> Finished:
        """Close the item with its outcome."""
        self._done = Finished(
            item=self._item,
            outcome=outcome,
            started_at=self._started_at,
            finished_at=max(self._started_at, self._context.clock()),  # a wall clock may be put back meanwhile
            read=self._read(),
            exchanges=self._exchanges,
            original=self._original,
        )
        return self._done

    def deferred(self) -> Deferred:
        """Close the item without an outcome; its row remains."""
        self._done = Deferred(self._item, self._exchanges)
        return self._done

    def _require_planned(self, planned: str | None, facts: FileFacts | None) -> None:
        """Raise SourceError for a file that is not the planned version, where only that one is sent."""
        if self._context.is_as_planned and planned is not None and (facts is None or facts.version != planned):
            raise SourceError("The file changed after it was planned.", reason=Reason.SOURCE_CHANGED)

    def note(self, exchange: Exchange) -> None:
        """Take an exchange that was made for the item."""
        self._exchanges.append(exchange)
        self._record(exchange)

    def _find_original(self, audio: AudioFile) -> None:
        """Look once, not with each fresh slot, for an answered item with the same bytes."""
        if self._context.duplicates is None or self._duplicate_key is not None:
            return
        self._duplicate_key = DuplicateKey(
            self._item.mode, audio.facts.size_bytes, audio.head_digest(), _sha256_of(self.sidecar)
        )
        self._original = self._context.duplicates.original_of(self._duplicate_key, audio)

    def _has_source_changed(self) -> bool:
        """Compare the files with those that were read; files that cannot be compared are taken as unchanged."""
        files, sidecar = self._context.files, self._item.sidecar
        try:
            if self._audio is None or files.facts(self._item.audio) != self._audio.facts:
                return True
            most_bytes = self._context.limits.sidecar
            return sidecar is not None and read_sidecar(sidecar, most_bytes, files) != self.sidecar
        except SourceError:
            return False

    def _read(self) -> AudioRead | None:
        if self._audio is None:
            return None
        return AudioRead(
            audio_format=str(self._audio.audio_format),
            size_bytes=self._audio.facts.size_bytes,
            version=self._audio.facts.version or None,
            sha256=self._audio.sha256,
            sidecar_sha256=None if self._audio.sha256 is None else _sha256_of(self.sidecar),
        )


def _sha256_of(content: bytes | None) -> str | None:
    return None if content is None else sha256(content).hexdigest()


def _download(partner: Partner, proof_id: str, files: AssetFiles, most_bytes: int) -> AudioFile:
    """Return the asset of a proof as an audio file; where the disk has no room, wait while other items may make some.

    (1) GET the asset's URL, (2) GET the asset.

    Raises:
        CallFailed: it cannot be had.
        RunMustStop: the leg ends, also for want of room: that says nothing about the proof.
        SourceError: `no_asset`, or `too_large` above `most_bytes`.
    """
    stop = partner.session.context.dispatcher.stop
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
