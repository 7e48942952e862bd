"""Decide before any call whether a row can be sent (contract, Limits).

There are two checks: of the listing when the run is planned, and of the content when the item runs. No row is dropped:
one that cannot be sent becomes ineligible, with its reason.
"""

from collections.abc import Mapping
from json.encoder import encode_basestring as _quoted

from proofsweep.domain.exchanges import SLOT_BYTES
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
from proofsweep.files.formats import AudioFormat

# The contract states no size: this finds a wrong file in the sidecar's place before a call.
SIDECAR_BYTES = 1024 * 1024

_ONE_FILE_FORMATS = frozenset({AudioFormat.WAV, AudioFormat.RF64, AudioFormat.BW64})
_PAIR_FORMATS = _ONE_FILE_FORMATS | {AudioFormat.AIFF, AudioFormat.CAF, AudioFormat.MP3, AudioFormat.M4A}


def work_item_of(row: ManifestRow, catalog_name: str, sidecar_field: str | None) -> WorkItem:
    """Turn a manifest row into a work item, eligible or not; without a `sidecar_field`, no pair is.

    Contract, Naming note: the sidecar's wire name is not published.
    """
    tags_json, audio_bytes = None, None
    if row.tags:
        tags_json = _json_of(row.tags)
    if isinstance(row.audio_facts, FileFacts):
        audio_bytes = row.audio_facts.size_bytes
    return WorkItem(
        manifest_row=row.number,
        item_id=item_id_of(row, catalog_name),
        audio=row.audio or "",
        sidecar=row.sidecar,
        audio_bytes=audio_bytes,
        audio_version=row.audio_version,
        sidecar_version=row.sidecar_version,
        tags_json=tags_json,
        relative_path=relative_path_of(row),
        manifest_line=row.where or None,
        declared=row.declared,
        is_delivered=row.batch is not None,
        is_touched=row.is_touched,
        ineligible=_judge_listing(row, sidecar_field),
    )


def _json_of(tags: Mapping[str, str]) -> str:
    written = [f"{_quoted(name)}: {_quoted(value)}" for name, value in tags.items()]
    text = f"{{{', '.join(written)}}}"
    if utf8_text(text) == text:
        return text
    # Some name or value is no UTF-8.
    return _json_of({utf8_text(name): utf8_text(value) for name, value in tags.items()})


def _judge_listing(row: ManifestRow, sidecar_field: str | None) -> Ineligible | None:
    if row.refused is not None:
        return row.refused
    if row.audio_facts is None:
        return Ineligible(Reason.MISSING_AUDIO, f"There is no audio at this location.{utf8_text(row.instead)}")
    if row.contested_sidecar is not None:
        claimed = f"Several audio files claim the sidecar {utf8_text(row.contested_sidecar)}"
        return Ineligible(Reason.AMBIGUOUS_SIDECAR, f"{claimed}: name it after its audio's full name.")
    if row.sidecar is not None and sidecar_field is None:
        return Ineligible(
            Reason.SIDECAR_FIELD_UNKNOWN,
            "The sidecar's wire name is not set. The service ignores a field that it does not know, and would verify "
            "the audio alone.",
        )
    unfit = None
    if isinstance(row.audio_facts, FileFacts):
        unfit = judge_size(row.audio_facts, row.declared)
    # What was not listed is checked when the item runs.
    if unfit is not None or row.sidecar is None or isinstance(row.sidecar_facts, Unlisted):
        return unfit
    return _judge_sidecar(row.sidecar_facts, utf8_text(row.instead))


def judge_size(facts: FileFacts, declared: Declared | None) -> Ineligible | None:
    """Return why audio of this size cannot be sent, or is not what its delivery declares; None if it fits the slot."""
    size = facts.size_bytes
    if size == 0:
        return Ineligible(Reason.EMPTY, "The audio file holds no bytes: ask the supplier to deliver it again.")
    if size > SLOT_BYTES:
        return Ineligible(
            Reason.TOO_LARGE,
            f"The audio has {size:,} bytes, and at most {SLOT_BYTES:,} are allowed: ask the supplier for a delivery "
            "that fits, such as MP3 or M4A with a sidecar.",
        )
    if declared is not None and not declared.is_size(size):
        return Ineligible(
            Reason.DAMAGED_IN_DELIVERY,
            f"The delivery declares a size of {declared.size_bytes:,}, in bytes or kilobytes, and the file has "
            f"{size:,} bytes.",
        )
    return None


def judge_content(audio_format: AudioFormat, mode: Mode) -> Ineligible | None:
    """Return why this content cannot be sent in this mode; None if it can.

    Contract, What the service does: one-file delivery is WAV/BWF only; AIFF, CAF, MP3 and M4A use the legacy pair.
    RF64 and BW64 are large WAV files, and the service decides about them.
    """
    is_unknown = audio_format is AudioFormat.UNKNOWN
    named = "not a known audio format" if is_unknown else audio_format.upper()
    if mode is Mode.ONE_FILE:
        return _judge_alone(audio_format, named)
    # The service decides about an unknown format, too: the sidecar may have been made for these exact bytes.
    if audio_format in _PAIR_FORMATS or is_unknown:
        return None
    return Ineligible(
        Reason.UNLISTED_FORMAT,
        f"The content is {named}, which the service does not take: ask the supplier for the WAV, AIFF, CAF, MP3 or M4A "
        "that the sidecar was made for.",
    )


def _judge_alone(audio_format: AudioFormat, named: str) -> Ineligible | None:
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


def _judge_sidecar(facts: FileFacts | None, instead: str) -> Ineligible | None:
    if facts is None:
        return Ineligible(Reason.MISSING_SIDECAR, f"There is no sidecar at this location.{instead}")
    if facts.size_bytes == 0:
        return Ineligible(Reason.MISSING_SIDECAR, "The sidecar file holds no bytes.")
    if facts.size_bytes > SIDECAR_BYTES:
        return Ineligible(
            Reason.SIDECAR_TOO_LARGE,
            f"The sidecar has {facts.size_bytes:,} bytes, and at most {SIDECAR_BYTES:,} are allowed.",
        )
    return None
