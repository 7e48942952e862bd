"""Rows of audio that messages name: their tags, their item IDs, and what is found of them. Pure but for links."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from proofsweep.catalog.deliveries.messages import ErnMessage, Header, MessageFile, Recording
from proofsweep.model.items import raw_bytes
from proofsweep.model.reasons import Ineligible, Reason

_OF_RECORDING = ("isrc", "title", "artist")
_OF_RELEASE = ("release_title", "label", "icpn", "grid", "catalog_number", "sender", "message_id", "thread_id")
TAG_NAMES: Final = (*_OF_RECORDING, *_OF_RELEASE, "resource", "technical", "batch", "release")
"""The tags that rows of a delivery may have; one whose value no message gives is left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Naming:
    """How messages name one file."""

    item_id: str
    file: MessageFile
    tags: Mapping[str, str]  # without those of the batch and the release's folder
    header: Header  # of the newest message that names it


def named(message: ErnMessage, header: Header, newest: ErnMessage | None = None) -> list[Naming]:
    """Return each file that a message names, once; a newer message of the release gives its metadata."""
    of_release = {name: getattr(newest or message, name) for name in _OF_RELEASE}
    newer = {_identity(each): each for each in reversed(() if newest is None else newest.recordings)}
    found: dict[tuple[str, str], Naming] = {}
    for recording in message.recordings:
        latest = newer.get(_identity(recording), recording)
        of_recording = {name: getattr(latest, name) for name in _OF_RECORDING} | {"resource": recording.reference}
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


def _identity(recording: Recording) -> str:
    """Return by what a recording is known again in a later message: its ISRC, or its reference if it has none."""
    return f"isrc:{recording.isrc}" if recording.isrc else f"reference:{recording.reference}"
