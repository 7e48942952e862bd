"""Decide before any call whether a row can be sent (contract, Limits).

There are two checks: of the listing when the run is planned, and of the content when the item runs. No row is dropped:
one that cannot be sent becomes ineligible, with its reason.
"""

import json
from dataclasses import dataclass

from proofsweep.domain.headers import SLOT_BYTES
from proofsweep.domain.items import (
    Declared,
    FileFacts,
    ManifestRow,
    Mode,
    Unlisted,
    WorkItem,
    item_id_of,
    relative_path_of,
    utf8_text,
)
from proofsweep.domain.reasons import Ineligible, Reason
from proofsweep.sources.formats import AudioFormat

# The contract states no size: this finds a wrong file in the sidecar's place before a call.
SIDECAR_BYTES = 1024 * 1024

_ONE_FILE_FORMATS = frozenset({AudioFormat.WAV, AudioFormat.RF64, AudioFormat.BW64})
_PAIR_FORMATS = _ONE_FILE_FORMATS | {AudioFormat.AIFF, AudioFormat.CAF, AudioFormat.MP3, AudioFormat.M4A}

_NO_WAV = _PAIR_FORMATS - _ONE_FILE_FORMATS | {AudioFormat.FLAC, AudioFormat.OGG}
_FORMAT_BY_ENDING = {each.value: each for each in _NO_WAV} | {"aif": AudioFormat.AIFF, "oga": AudioFormat.OGG}
"""Endings that leave no doubt; a file named `.wav` may hold anything."""

_JSON = json.JSONEncoder(ensure_ascii=False).encode  # made once: `json.dumps` makes one for each row


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeLimits:
    """Largest sizes in bytes that are sent. The contract states only that of one file."""

    one_file: int = SLOT_BYTES
    pair: int = SLOT_BYTES
    sidecar: int = SIDECAR_BYTES
    is_sidecar_field_known: bool = True  # while it is not, no pair is sent, of any size (contract, Naming note)

    def audio(self, mode: Mode) -> int:
        return self.one_file if mode is Mode.ONE_FILE else self.pair


def work_item_of(row: ManifestRow, catalog_name: str, limits: SizeLimits) -> WorkItem:
    """Turn a manifest row into a work item, eligible or not."""
    tags = {utf8_text(name): utf8_text(value) for name, value in row.tags.items()}
    return WorkItem(
        manifest_row=row.number,
        item_id=item_id_of(row, catalog_name),
        audio=row.audio or "",
        sidecar=row.sidecar,
        audio_bytes=row.audio_facts.size_bytes if isinstance(row.audio_facts, FileFacts) else None,
        audio_version=row.audio_version,
        sidecar_version=row.sidecar_version,
        tags_json=_JSON(tags) if tags else None,
        relative_path=relative_path_of(row),
        manifest_line=row.where or None,
        declared=row.declared,
        is_delivered=row.batch is not None,
        is_touched=row.is_touched,
        ineligible=judge_listing(row, limits),
    )


def judge_listing(row: ManifestRow, limits: SizeLimits) -> Ineligible | None:
    """Return why a row cannot be sent, from the listing alone; None if it can."""
    if row.refused is not None:
        return row.refused
    if row.audio_facts is None:
        return Ineligible(Reason.MISSING_AUDIO, "There is no audio at this location.")
    if row.contested_sidecar is not None:
        claimed = f"Several audio files claim the sidecar {utf8_text(row.contested_sidecar)}"
        return Ineligible(Reason.AMBIGUOUS_SIDECAR, f"{claimed}: name it after its audio's full name.")
    if row.sidecar is not None and not limits.is_sidecar_field_known:
        return Ineligible(
            Reason.SIDECAR_FIELD_UNKNOWN,
            "The sidecar's wire name is not set. The service ignores a field that it does not know, and would verify "
            "the audio alone.",
        )
    unfit, mode = None, Mode.ONE_FILE if row.sidecar is None else Mode.LEGACY_PAIR
    if isinstance(row.audio_facts, FileFacts):
        unfit = judge_size(row.audio_facts, limits.audio(mode)) or judge_declared_size(row.audio_facts, row.declared)
    if unfit is not None or row.sidecar is None or isinstance(row.sidecar_facts, Unlisted):
        return unfit
    return _judge_sidecar(row.sidecar_facts, limits)


def judge_size(facts: FileFacts, most_bytes: int) -> Ineligible | None:
    """Return whether the audio is empty or does not fit the slot; None if it fits."""
    if facts.size_bytes == 0:
        return Ineligible(Reason.EMPTY, "The audio file holds no bytes: ask the supplier to deliver it again.")
    if facts.size_bytes > most_bytes:
        return Ineligible(
            Reason.TOO_LARGE,
            f"The audio has {facts.size_bytes:,} bytes, and at most {most_bytes:,} are allowed: ask the supplier for a "
            "delivery that fits, such as MP3 or M4A with a sidecar.",
        )
    return None


def judge_declared_size(facts: FileFacts, declared: Declared | None) -> Ineligible | None:
    """Return whether the audio has another size than its delivery declares; None if it has not, or none is declared.

    A size of 0 is none: senders write it who do not know the size.
    """
    if declared is None or not declared.size_bytes or declared.is_size(facts.size_bytes):
        return None
    return Ineligible(
        Reason.DAMAGED_IN_DELIVERY,
        f"The delivery declares a size of {declared.size_bytes:,}, in bytes or kilobytes, and the file has "
        f"{facts.size_bytes:,} bytes.",
    )


def judge_content(audio_format: AudioFormat, mode: Mode, unlisted: str | None = None) -> Ineligible | None:
    """Return why this content cannot be sent in this mode; None if it can.

    Contract, What the service does: one-file delivery is WAV/BWF only; AIFF, CAF, MP3 and M4A use the legacy pair.
    RF64 and BW64 are large WAV files, and the service decides about them. It also decides about a pair whose format is
    not known, because the sidecar may have been made for these exact bytes, unless it is audio of an `unlisted` name.
    """
    is_unknown = audio_format is AudioFormat.UNKNOWN
    named = (unlisted or "not a known audio format") if is_unknown else audio_format.upper()
    if mode is Mode.ONE_FILE:
        if audio_format in _ONE_FILE_FORMATS:
            return None
        if audio_format in _PAIR_FORMATS:
            return Ineligible(
                Reason.NOT_WAV,
                f"The content is {named}, and only WAV/BWF can be verified without a sidecar: ask the supplier for a "
                "credentialed WAV, or for this file's sidecar.",
            )
        return Ineligible(
            Reason.UNLISTED_FORMAT,
            f"The content is {named}: ask the supplier for the credentialed WAV as it was issued, or for AIFF, CAF, "
            "MP3 or M4A with its sidecar.",
        )
    if audio_format in _PAIR_FORMATS or (is_unknown and unlisted is None):
        return None
    return Ineligible(
        Reason.UNLISTED_FORMAT,
        f"The content is {named}, which the service does not take: ask the supplier for the WAV, AIFF, CAF, MP3 or M4A "
        "that the sidecar was made for.",
    )


def judge_name(ending: str, mode: Mode) -> Ineligible | None:
    """Say why a file will probably not be sent, by its name's ending alone; its content decides when the item runs."""
    named = _FORMAT_BY_ENDING.get(ending)
    return None if named is None else judge_content(named, mode)


def _judge_sidecar(facts: FileFacts | None, limits: SizeLimits) -> Ineligible | None:
    if facts is None:
        return Ineligible(Reason.MISSING_SIDECAR, "There is no sidecar at this location.")
    if facts.size_bytes == 0:
        return Ineligible(Reason.MISSING_SIDECAR, "The sidecar file holds no bytes.")
    if facts.size_bytes > limits.sidecar:
        return Ineligible(
            Reason.SIDECAR_TOO_LARGE,
            f"The sidecar has {facts.size_bytes:,} bytes, and at most {limits.sidecar:,} are allowed.",
        )
    return None
