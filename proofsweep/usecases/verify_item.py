"""Take one item through the contract's core flow."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256

from proofsweep.batch.exchanges import Exchange
from proofsweep.batch.items import WorkItem
from proofsweep.batch.outcomes import Answer, AudioRead, Deferred, Failed, Finished, Outcome, outcome_of
from proofsweep.batch.preflight import SizeLimits, judge_content, judge_size
from proofsweep.batch.reasons import Ineligible, Reason
from proofsweep.client.partner import Partner
from proofsweep.errors import CallFailed, RunMustStop, SlotRefused, SlotSpent, SourceError
from proofsweep.storage.audio import AudioFile, open_audio, read_sidecar
from proofsweep.usecases.source_watch import SourceWatch

Clock = Callable[[], datetime]


@dataclass(slots=True)
class _Reading:
    """What has been read of the item's files so far; it outlives the failure of a call.

    Attributes:
        location: of the file that is being read.
    """

    location: str = ""
    audio: AudioFile | None = None
    sidecar: bytes | None = None
    was_sent: bool = False


def verify_item(
    item: WorkItem,
    partner: Partner,
    limits: SizeLimits,
    sources: SourceWatch,
    *,
    clock: Clock,
    note: Callable[[Exchange], None] = lambda _exchange: None,
) -> Finished | Deferred:
    """Find out what the service says about one item; never raises for what an item or the service may bring.

    Args:
        item: planned; if it is ineligible already, no call is made.
        partner: the service.
        limits: largest sizes that are sent.
        sources: where audio and sidecars are read.
        clock: gives the time in UTC.
        note: is told of each exchange at once; an item may take minutes, and its request IDs must outlive a crash.
    """
    exchanges: list[Exchange] = []

    def record(exchange: Exchange) -> None:
        exchanges.append(exchange)
        note(exchange)

    reading = _Reading()
    started_at = clock()
    try:
        outcome = item.ineligible or _outcome(item, partner.in_new_conversation(record), limits, sources, reading)
    except RunMustStop:
        return Deferred(item, exchanges)
    return Finished(
        item=item,
        outcome=outcome,
        started_at=started_at,
        finished_at=clock(),
        read=_read_of(reading),
        exchanges=exchanges,
    )


def _outcome(item: WorkItem, partner: Partner, limits: SizeLimits, sources: SourceWatch, reading: _Reading) -> Outcome:
    while True:
        try:
            return _attempt(item, partner, limits, sources, reading)
        except SourceError as error:
            if not sources.is_worth_another_try(reading.location, error):
                return _of_source(error)
        except (CallFailed, SlotRefused) as error:
            return Failed(reason=error.reason, detail=error.message, error_code=error.code)


def _attempt(item: WorkItem, partner: Partner, limits: SizeLimits, sources: SourceWatch, reading: _Reading) -> Outcome:
    reading.location = item.audio
    with open_audio(item.audio, sources.files) as audio:
        reading.audio = audio
        sources.was_read(item.audio)
        unfit = judge_size(audio.facts, limits.audio(item.mode)) or judge_content(
            audio.audio_format, item.mode, audio.look
        )
        if unfit is not None:
            return unfit
        if item.sidecar is not None:
            reading.location = item.sidecar
            reading.sidecar = read_sidecar(item.sidecar, limits.sidecar, sources.files)
            reading.location = item.audio
        return outcome_of(_answer(partner, reading, audio))


def _answer(partner: Partner, reading: _Reading, audio: AudioFile) -> Answer:
    """Ask until there is an answer: a spent slot is left for a fresh one, which the retry rule bounds."""
    while True:
        slot = partner.request_slot()  # (1)
        try:
            partner.fill_slot(slot, audio)  # (2)
            reading.was_sent = True
            return partner.verify(slot, reading.sidecar)  # (3)
        except SlotSpent:
            continue


def _of_source(error: SourceError) -> Failed | Ineligible:
    """A file that moves under us, or that its bucket fails to give, failed for now; others are for the catalog."""
    if error.reason in {Reason.SOURCE_CHANGED, Reason.SOURCE_UNAVAILABLE}:
        return Failed(reason=error.reason, detail=error.message)
    return Ineligible(Reason(error.reason), error.message)


def _read_of(reading: _Reading) -> AudioRead | None:
    if reading.audio is None:
        return None
    return AudioRead(
        audio_format=str(reading.audio.audio_format),
        size_bytes=reading.audio.facts.size_bytes,
        version=reading.audio.facts.version,
        sha256=reading.audio.sha256 if reading.was_sent else None,
        sidecar_sha256=sha256(reading.sidecar).hexdigest() if reading.sidecar and reading.was_sent else None,
    )
