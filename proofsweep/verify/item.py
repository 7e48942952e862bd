"""Take one item through the contract's core flow (contract, What the service does).

The audio of a proof is its asset, which is downloaded into a file without a name.
"""

import os
import tempfile
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager, ExitStack, closing, nullcontext, suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from hashlib import sha256
from http import HTTPStatus

from proofsweep.client.client import Partner
from proofsweep.config.threads import get_ident
from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import (
    CallFailed,
    CallNotMade,
    ProofsweepError,
    ResourceShortage,
    RunMustStop,
    SlotRefused,
    SlotSpent,
    SourceError,
)
from proofsweep.domain.exchanges import SLOT_BYTES, Call, Exchange
from proofsweep.domain.items import FileFacts, WorkItem, proof_id_of
from proofsweep.domain.outcomes import Accepted, AudioRead, Deferred, Failed, Finished, Outcome, Rejected, outcome_of
from proofsweep.domain.reasons import Ineligible, Reason
from proofsweep.files.audio import AudioFile, open_audio, read_sidecar
from proofsweep.files.files import Files, kind_of
from proofsweep.files.formats import AudioFormat
from proofsweep.files.local_files import LocalFile
from proofsweep.sources.preflight import SIDECAR_BYTES, judge_content, judge_size
from proofsweep.store.rows import answer_in
from proofsweep.verify.budget import CALLS_OF_A_FILE, CALLS_OF_A_PROOF, Budget
from proofsweep.verify.duplicates import DuplicateCache, DuplicateKey, Turn

_REPLACED = {Reason.MISSING_SIDECAR, Reason.SIDECAR_TOO_LARGE, Reason.STAND_IN}  # of a sidecar that could be read
_NO_ASSET = "The service has no one-file artifact of this proof (404): it is of a legacy pair, erased, or pending."


class AssetFile(LocalFile):
    """A file without a name, with the last body of a download."""

    def __init__(self) -> None:
        """Make it in the folder for temporary files (TMPDIR); RunMustStop if that cannot be."""
        try:
            with tempfile.TemporaryFile() as file:
                super().__init__(os.dup(file.fileno()))
        except OSError as error:
            raise _no_room(error) from error
        self.error: ProofsweepError | None = None  # why the body is not whole, unless the connection broke

    def facts(self) -> FileFacts:
        """Return its size; the service names no version of an asset, and nobody else can change the file."""
        return FileFacts(os.fstat(self._descriptor).st_size, version="")

    def add(self, pieces: Iterable[bytes]) -> None:
        """Write a body in place of the last one; what hinders it is kept in `error`."""
        self.error = None
        try:
            # A download that is tried again begins anew: the last body may have been longer.
            with os.fdopen(self._descriptor, "wb", closefd=False) as file:
                file.seek(0)
                file.truncate()
                for piece in pieces:
                    if file.tell() + len(piece) > SLOT_BYTES:
                        what = f"The asset has more than {SLOT_BYTES:,} bytes."
                        self.error = SourceError(what, reason=Reason.TOO_LARGE)
                        return
                    file.write(piece)
        except OSError as error:
            self.error = _no_room(error)


def download_asset(partner: Partner, proof_id: str) -> AudioFile:
    """Return the asset of a proof as an audio file: (1) GET the asset's URL, (2) GET the asset.

    SourceError: `no_asset` or `too_large`. RunMustStop also where the disk has no room: that says nothing about the
    proof.
    """
    try:
        with ExitStack() as unless_kept:
            file = unless_kept.enter_context(AssetFile())
            partner.download(partner.asset_url(proof_id), file.add)  # (1), (2)
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


Clock = Callable[[], datetime]
Record = Callable[[Exchange], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyContext:
    """What the items of a leg are verified with."""

    partner: Partner
    files: Files
    clock: Clock
    duplicates: DuplicateCache | None = None  # knows the answers for bytes that were sent before; None sends every item
    budget: Budget | None = None  # covers and counts the calls; None for any number
    in_work: dict[int, "ItemWork"] = field(default_factory=dict)  # by the thread that works on it
    is_as_planned: bool = False  # whether only the planned version of a file is sent: another one may still be written


def verify_item(item: WorkItem, context: VerifyContext, record: Record = lambda _exchange: None) -> Finished | Deferred:
    """Find out what the service says about one item; whatever the item or the service bring is a value, never raised.

    (1) POST /uploads gives a short-lived slot, (2) a form POST to the slot stores the audio, (3) POST /verify gives the
    verdict, (4) a rejection, or damage, counts only for files that are still what was read. A slot that is spent before
    (3) is answered costs another round, which the retry rule bounds.

    An item that is ineligible already costs no call. `record` takes each exchange at once, since an item may take
    minutes and its request IDs must outlive a crash.
    """
    outcome: Outcome | None = None if item.may_be_found else item.ineligible
    with closing(ItemWork(item, context, record)) as work:
        try:
            while outcome is None:
                with suppress(SlotSpent), work.open_audio() as audio:
                    outcome = work.outcome_without_call(audio)
                    if outcome is None:
                        work.admit(CALLS_OF_A_FILE)
                        slot = work.partner.request_slot()  # (1)
                        work.partner.fill_slot(slot, audio.chunks(), audio.facts.size_bytes)  # (2)
                        outcome = outcome_of(work.partner.verify(slot, work.sidecar))  # (3)
        except RunMustStop as stopped:
            return work.deferred(stopped)
        except (ResourceShortage, CallNotMade) as short:
            return work.deferred(shortage=short.message)
        except SourceError as error:
            outcome = _unreadable(error, item.ineligible)
        except (CallFailed, SlotRefused) as error:
            outcome = Failed(reason=error.reason, detail=error.message, error_code=error.code)
        if isinstance(outcome, Rejected | Ineligible):
            outcome = work.unless_source_changed(outcome)  # (4)
        return work.finished(outcome)


def _unreadable(error: SourceError, planned: Ineligible | None) -> Outcome:
    """A file that changes, or that its source does not give, failed for now; any other is for the catalog."""
    if error.reason in {Reason.SOURCE_CHANGED, Reason.SOURCE_UNAVAILABLE}:
        return Failed(reason=error.reason, detail=error.message)
    # Of a file that is not there, the plan knows more: what names it.
    if planned is not None and planned.reason == error.reason == Reason.MISSING_AUDIO:
        return planned
    return Ineligible(Reason(error.reason), error.message)


class ItemWork:
    """The work on one item, by one thread; close it in the end, for the items that wait for the same bytes."""

    def __init__(self, item: WorkItem, context: VerifyContext, record: Record) -> None:
        # Called before the first call: RunMustStop if none are left. A copy, or a file that is not fit to be sent,
        # makes none.
        self.admit: Callable[[AbstractSet[Call]], None] = lambda _calls: None
        self._calls_before = 0  # of earlier tries
        claim = None
        if context.budget is not None:
            self.admit = partial(context.budget.admit, item.manifest_row)
            self._calls_before = context.budget.calls_of_tries.get(item.manifest_row, 0)
            claim = partial(context.budget.claim, item.manifest_row)
        self._calls = self._calls_before
        self.partner = context.partner.in_new_session(self._note, claim)
        self.sidecar: bytes | None = None  # the sidecar's bytes, once they are read; None for a one-file item
        self.item = item
        self._context = context
        self._record = record
        self._exchanges: list[Exchange] = []
        self._started_at = context.clock()
        self._sidecar_sha256: str | None = None
        self._audio: AudioFile | None = None  # as it was read last
        self._asset: AudioFile | None = None  # of a proof, from its download to the item's end
        self._kept = ExitStack()
        self._earlier = item.earlier
        self._duplicate_key: DuplicateKey | None = None
        self._turn: Turn | None = None
        self._original: Finished | None = None
        self._done: Finished | Deferred | None = None
        self._is_given_up = False
        context.in_work[get_ident()] = self

    def give_up(self) -> None:
        """Free what others wait for, from another thread: a read of this item hangs, and nobody waits for its end."""
        self._is_given_up = True
        self.partner.session.leave()
        duplicates, key = self._context.duplicates, self._duplicate_key
        if duplicates is not None and key is not None and self._turn is not None:
            duplicates.resolve(key, self._turn, None)

    def close(self) -> None:
        self._context.in_work.pop(get_ident(), None)
        self._kept.close()
        if self._context.budget is not None and self._calls:
            self._context.budget.calls_of_tries[self.item.manifest_row] = self._calls
        duplicates, key = self._context.duplicates, self._duplicate_key
        if duplicates is not None and key is not None and self._turn is not None:
            duplicates.resolve(key, self._turn, self._done)
        # This and its session know each other, so Python may free them much later; an answer has up to 2 MiB.
        self._done = self._original = None

    def _note(self, exchange: Exchange) -> None:
        self._exchanges.append(exchange)
        self._calls += exchange.is_charged
        self._record(exchange)

    def open_audio(self) -> AbstractContextManager[AudioFile]:
        """Open the item's audio, or download the asset of its proof, once; SourceError when it cannot be read."""
        proof_id = proof_id_of(self.item.audio)
        if proof_id is None:
            return open_audio(self.item.audio, self._context.files, is_sent=True)
        if self._asset is None:
            self.admit(CALLS_OF_A_PROOF)
            self._asset = self._kept.enter_context(download_asset(self.partner, proof_id))
        return nullcontext(self._asset)

    def outcome_without_call(self, audio: AudioFile) -> Outcome | None:
        """Judge the files by their content and look for an answer to the same bytes; None when the service must say."""
        item, context = self.item, self._context
        if context.is_as_planned:
            _require_planned(item.audio_version, audio.facts)
        self._audio = audio
        if item.declared is not None:
            audio.declared = item.declared.strongest
        unfit = self._unfit(audio)
        if unfit is not None:
            return unfit
        if item.sidecar is not None:
            self.sidecar = read_sidecar(item.sidecar, SIDECAR_BYTES, context.files)
            self._sidecar_sha256 = sha256(self.sidecar).hexdigest()
            if context.is_as_planned:
                _require_planned(item.sidecar_version, context.files.facts(item.sidecar))
        # Only the time of a file may have changed since its answer. The same bytes are not paid twice.
        if self._earlier is not None:
            if _has_bytes_of(self._earlier, audio, self._sidecar_sha256):
                return outcome_of(answer_in(dict(self._earlier)))
            self._earlier = None
        if context.duplicates is not None and self._duplicate_key is None:  # not with each fresh slot
            size, head = audio.facts.size_bytes, audio.head_digest()
            self._duplicate_key = DuplicateKey(item.mode, size, head, self._sidecar_sha256)
            original = context.duplicates.original_of(self._duplicate_key, audio)
            if isinstance(original, Finished):
                self._original = original
            else:
                self._turn = original
        return None if self._original is None else self._original.outcome

    def _unfit(self, audio: AudioFile) -> Ineligible | None:
        """Judge the size and the content, and a local file by its declared digest too."""
        unfit = audio.stand_in or judge_size(audio.facts, self.item.declared)
        if unfit is not None:
            return unfit
        unfit = judge_content(audio.audio_format, self.item.mode)
        # Damage explains content that is not recognised, so the digest comes first. Of a format that is not sent, no
        # digest is read.
        may_be_damage = audio.declared and (unfit is None or audio.audio_format is AudioFormat.UNKNOWN)
        if may_be_damage and kind_of(self.item.audio).is_cheap_to_read:
            audio.read_through()
            audio.sha256 = None  # nothing was sent
        return unfit

    def unless_source_changed(self, outcome: Rejected | Ineligible) -> Rejected | Ineligible | Failed:
        """Turn an outcome of files that are no longer what was read into a failure: a delivery may still be going on.

        Only a rejection and damage are checked, since they blame the supplier: one stat for a local file, one HEAD for
        an object. Damage is compared with the version that was planned, too.
        """
        is_checked = isinstance(outcome, Rejected) or outcome.reason is Reason.DAMAGED_IN_DELIVERY
        if self._asset is not None or not is_checked:
            return outcome
        # A rejection and damage blame the supplier, so a file that is still being delivered must not get one.
        is_replaced = isinstance(outcome, Ineligible) and not self._is_planned_version()
        if not (is_replaced or self._has_source_changed()):
            return outcome
        self._original = None
        detail = "The file changed while it was verified: the service rejected bytes that are no longer there."
        if isinstance(outcome, Ineligible):
            detail = f"The file changed since it was listed. {outcome.detail}"
        return Failed(reason=Reason.SOURCE_CHANGED, detail=detail)

    def _is_planned_version(self) -> bool:
        planned = self.item.audio_version
        return planned is None or self._audio is None or self._audio.facts.version == planned

    def _has_source_changed(self) -> bool:
        """Compare the files with those that were read; files that cannot be looked at are taken as unchanged."""
        files, sidecar = self._context.files, self.item.sidecar
        try:
            if self._audio is None or files.facts(self.item.audio) != self._audio.facts:
                return True
            if sidecar is None or self.sidecar is None:
                return False
            return read_sidecar(sidecar, SIDECAR_BYTES, files) != self.sidecar
        except SourceError as error:
            return error.reason in _REPLACED

    def finished(self, outcome: Outcome) -> Finished | Deferred:
        if self._is_given_up:  # others may have been told meanwhile that this item waits
            return self.deferred()
        earlier = self._earlier if isinstance(outcome, Accepted | Rejected) else None
        self._done = Finished(
            item=self.item,
            outcome=outcome,
            started_at=self._started_at,
            finished_at=max(self._started_at, self._context.clock()),  # a wall clock may be put back meanwhile
            read=None if self._audio is None else self._read_of(self._audio),
            exchanges=self._exchanges,
            calls_before=self._calls_before,
            original=self._original,
            earlier=earlier,
        )
        return self._done

    def _read_of(self, audio: AudioFile) -> AudioRead:
        return AudioRead(
            audio_format=str(audio.audio_format),
            size_bytes=audio.facts.size_bytes,
            version=audio.facts.version or None,
            sha256=audio.sha256,
            sidecar_sha256=None if audio.sha256 is None else self._sidecar_sha256,
        )

    def deferred(self, stopped: RunMustStop | None = None, shortage: str | None = None) -> Deferred:
        self._done = Deferred(self.item, self._exchanges, stopped, shortage)
        return self._done


def _require_planned(planned: str | None, facts: FileFacts | None) -> None:
    if planned is not None and (facts is None or facts.version != planned):
        raise SourceError("The file changed after it was planned.", reason=Reason.SOURCE_CHANGED)


def _has_bytes_of(earlier: Mapping[str, object], audio: AudioFile, sidecar_sha256: str | None) -> bool:
    """Whether audio and sidecar have the bytes that were answered; the audio is read only if the rest is the same."""
    if earlier["audio_bytes"] != audio.facts.size_bytes:
        return False
    if earlier["sidecar_sha256"] != sidecar_sha256:
        return False
    return audio.read_through() == earlier["audio_sha256"]
