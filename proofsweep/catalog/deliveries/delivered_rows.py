"""Rows of audio that messages name: their tags, their item IDs, and what is found of them. Pure but for links."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from proofsweep.catalog.deliveries.messages import ErnMessage, Header, MessageFile, Recording
from proofsweep.model.items import raw_bytes
from proofsweep.model.reasons import Ineligible, Reason

TAG_NAMES: Final = (
    *("isrc", "title", "artist", "release_title", "label", "icpn", "grid", "catalog_number", "sender", "message_id"),
    *("thread_id", "resource", "technical", "batch", "release"),
)
"""The tags that rows of a delivery may have; one whose value no message gives is left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Naming:
    """How messages name one file.

    Attributes:
        tags: without those of the batch and the release's folder.
        written: the location as the message has it.
        header: of the newest message that names it.
    """

    item_id: str
    file: MessageFile
    tags: Mapping[str, str]
    header: Header


def named(message: ErnMessage, header: Header, newest: ErnMessage | None = None) -> list[Naming]:
    """Return each file that a message names, once; a newer message of the release gives its metadata."""
    of_release = _release_tags(newest or message)
    newer = {} if newest is None else _by_identity(newest)
    found: dict[tuple[str, str], Naming] = {}
    for recording in message.recordings:
        latest = next((newer[key] for key in _identities(recording) if key in newer), recording)
        of_recording = _recording_tags(latest) | {"resource": recording.reference}
        for file in recording.files:
            tags = of_recording | of_release | {"technical": file.technical}
            naming = Naming(
                item_id=item_id_for(header, recording.reference, file.location),
                file=file,
                tags={name: tags[name] for name in TAG_NAMES if tags.get(name)},
                header=header,
            )
            found.setdefault((recording.reference, file.location), naming)
    return list(found.values())


def item_id_for(header: Header, reference: str, written: str) -> str:
    """Return an item ID that stays the same wherever the delivery lies: 32 hex digits.

    It is made of the sender, the release, the recording's reference in the message, and the location as written there.
    """
    release = header.release_id or header.thread_id or header.message_id
    parts = (header.sender, release, reference, written)
    kind = ("test",) if header.is_test else ()
    return hashlib.sha256(b"\0".join(map(raw_bytes, (*kind, *parts)))).hexdigest()[:32]


def finding(header: Header, *, is_withdrawn: bool) -> Ineligible | None:
    """Return why a file that a message names is not sent, whatever it holds; None if it is."""
    if header.is_test:
        return Ineligible(Reason.TEST_MESSAGE, f"Message {header.message_id or header.location} is a TestMessage.")
    if is_withdrawn:
        return Ineligible(Reason.WITHDRAWN, f"{header.sender} withdrew the release {header.release_id} later.")
    return None


def _release_tags(message: ErnMessage) -> dict[str, str]:
    return {
        "icpn": message.icpn,
        "grid": message.grid,
        "catalog_number": message.catalog_number,
        "release_title": message.release_title,
        "label": message.label,
        "sender": message.sender,
        "message_id": message.message_id,
        "thread_id": message.thread_id,
    }


def _recording_tags(recording: Recording) -> dict[str, str]:
    return {"isrc": recording.isrc, "title": recording.title, "artist": recording.artist}


def _identities(recording: Recording) -> tuple[str, ...]:
    """Return by what a recording is known again in a later message: its ISRC, or its reference if it has none."""
    return (f"isrc:{recording.isrc}",) if recording.isrc else (f"reference:{recording.reference}",)


def _by_identity(message: ErnMessage) -> dict[str, Recording]:
    found: dict[str, Recording] = {}
    for recording in message.recordings:
        for key in _identities(recording):
            found.setdefault(key, recording)
    return found
