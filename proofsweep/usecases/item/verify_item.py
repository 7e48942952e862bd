"""Take one item through the contract's core flow."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import sha256

from proofsweep.client.partner import Partner
from proofsweep.domain.exchanges import Exchange
from proofsweep.domain.items import WorkItem
from proofsweep.domain.outcomes import Answer, AudioRead, Deferred, Failed, Finished, Outcome, outcome_of
from proofsweep.domain.preflight import SizeLimits, judge_content, judge_size
from proofsweep.domain.reasons import Ineligible, Reason
from proofsweep.errors import CallFailed, RunMustStop, SlotRefused, SlotSpent, SourceError
from proofsweep.storage.files.audio import AudioFile, open_audio, read_sidecar
from proofsweep.usecases.item.duplicates import DuplicateCache, DuplicateKey
from proofsweep.usecases.item.source_watch import SourceWatch

Clock = Callable[[], datetime]


@dataclass(frozen=True, slots=True)
class VerifyContext:
    """What items are verified with.

    Attributes:
        limits: largest sizes that are sent.
        sources: where audio and sidecars are read.
        repeats: knows the answers for bytes that were sent before; None asks for every item anew.
    """

    partner: Partner
    limits: SizeLimits
    sources: SourceWatch
    repeats: DuplicateCache | None = None


@dataclass(slots=True)
class _Reading:
    """What has been read of the item's files so far; it outlives the failure of a call.

    Attributes:
        location: of the file that is being read.
        is_whole: the audio was read to its end, to be sent or to be compared.
        mark: what it has in common with files that may be the same.
        original: an answered item that is the same.
    """

    location: str = ""
    audio: AudioFile | None = None
    sidecar: bytes | None = None
    is_whole: bool = False
    mark: DuplicateKey | None = None
    original: Finished | None = None


def verify_item(
    item: WorkItem, means: VerifyContext, clock: Clock, note: Callable[[Exchange], None] = lambda _exchange: None
) -> Finished | Deferred:
    """Find out what the service says about one item; never raises for what an item or the service may bring.

    Args:
        item: planned; if it is ineligible already, no call is made.
        means: what it is verified with.
        clock: gives the time in UTC.
        note: is told of each exchange at once; an item may take minutes, and its request IDs must outlive a crash.
    """
    exchanges: list[Exchange] = []

    def record(exchange: Exchange) -> None:
        exchanges.append(exchange)
        note(exchange)

    reading = _Reading()
    done: Finished | Deferred | None = None
    try:
        own = replace(means, partner=means.partner.in_new_session(record))
        done = replace(_end_of(item, own, clock, reading), exchanges=exchanges)
    finally:
        if means.repeats is not None and reading.mark is not None:
            means.repeats.settle(reading.mark, done)
    return done


def _end_of(item: WorkItem, means: VerifyContext, clock: Clock, reading: _Reading) -> Finished | Deferred:
    started_at = clock()
    try:
        outcome = item.ineligible or _outcome(item, means, reading)
    except RunMustStop:
        return Deferred(item)
    return Finished(
        item=item,
        outcome=outcome,
        started_at=started_at,
        finished_at=max(started_at, clock()),  # a clock may be put back meanwhile
        read=_read_of(reading),
        original=reading.original,
    )


def _outcome(item: WorkItem, means: VerifyContext, reading: _Reading) -> Outcome:
    while True:
        try:
            return _attempt(item, means, reading)
        except SourceError as error:
            if not means.sources.is_worth_another_try(reading.location, error):
                return _of_source(error)
        except (CallFailed, SlotRefused) as error:
            return Failed(reason=error.reason, detail=error.message, error_code=error.code)


def _attempt(item: WorkItem, means: VerifyContext, reading: _Reading) -> Outcome:
    reading.location = item.audio
    with open_audio(item.audio, means.sources.files) as audio:
        reading.audio = audio
        means.sources.was_read(item.audio)
        unfit = judge_size(audio.facts, means.limits.audio(item.mode)) or judge_content(
            audio.audio_format, item.mode, audio.look
        )
        if unfit is not None:
            return unfit
        if item.sidecar is not None:
            reading.location = item.sidecar
            reading.sidecar = read_sidecar(item.sidecar, means.limits.sidecar, means.sources.files)
            reading.location = item.audio
        if means.repeats is not None and (original := _original(item, audio, means.repeats, reading)) is not None:
            return original.outcome
        return outcome_of(_answer(means.partner, reading, audio))


def _original(item: WorkItem, audio: AudioFile, repeats: DuplicateCache, reading: _Reading) -> Finished | None:
    """Look, once, whether the same bytes were answered; if so they were read to the end, and need not be sent."""
    if reading.mark is None:
        reading.mark = DuplicateKey(item.mode, audio.facts.size_bytes, audio.glance(), _sha256_of(reading.sidecar))
        reading.original = repeats.original_of(reading.mark, audio)
        reading.is_whole = reading.original is not None
    return reading.original


def _answer(partner: Partner, reading: _Reading, audio: AudioFile) -> Answer:
    """Ask until there is an answer: a spent slot is left for a fresh one, which the retry rule bounds."""
    while True:
        slot = partner.request_slot()  # (1)
        try:
            partner.fill_slot(slot, audio)  # (2)
            reading.is_whole = True
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
        sha256=reading.audio.sha256 if reading.is_whole else None,
        sidecar_sha256=_sha256_of(reading.sidecar) if reading.is_whole else None,
    )


def _sha256_of(content: bytes | None) -> str | None:
    return None if content is None else sha256(content).hexdigest()
