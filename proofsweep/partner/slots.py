"""The slot's form POST: every field in the order received, then the file (contract, Core flow 2)."""

import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from proofsweep.contract.models import UploadResponse
from proofsweep.model.exchanges import Call
from proofsweep.model.items import FileFacts
from proofsweep.partner.messages import Request

_FILE_NAME = "audio"  # the same for all files: the local name stays here
# In a field's name, as HTML forms do it.
_ESCAPES = str.maketrans({"\r": "%0D", "\n": "%0A", '"': "%22"})


class AudioBody(Protocol):
    """Audio to send: as many bytes as its facts say, which can be read again from the start."""

    facts: FileFacts

    def chunks(self) -> Iterator[bytes]:
        """Read from the start; raises SourceError when the source has changed."""
        ...


def slot_request(slot: UploadResponse, audio: AudioBody) -> Request:
    """Make the multipart form of one slot: streamed, with a known length.

    Object storage refuses chunked transfer, so it needs Content-Length.
    """
    boundary = secrets.token_hex(16)
    parts = [_part(boundary, f'name="{name.translate(_ESCAPES)}"', value) for name, value in slot.fields.items()]
    file = _part(boundary, f'name="file"; filename="{_FILE_NAME}"\r\nContent-Type: application/octet-stream', "")
    head = ("".join(parts) + file.removesuffix("\r\n")).encode("utf-8", "replace")
    tail = f"\r\n--{boundary}--\r\n".encode()
    return Request(
        call=Call.SLOT,
        method="POST",
        url=slot.url.get_secret_value(),
        headers={"Content-Type": f"multipart/form-data; boundary={boundary}"},
        content=_FormBody(head, audio, tail),
        content_bytes=len(head) + audio.facts.size_bytes + len(tail),
    )


def _part(boundary: str, disposition: str, value: str) -> str:
    return f"--{boundary}\r\nContent-Disposition: form-data; {disposition}\r\n\r\n{value}\r\n"


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class _FormBody:
    """Head, audio and tail; each attempt reads them from the start."""

    head: bytes
    audio: AudioBody
    tail: bytes

    def __iter__(self) -> Iterator[bytes]:
        pieces = self.audio.chunks()
        yield self.head + next(pieces, b"")  # in one packet: a small file waits mostly for the network
        yield from pieces
        yield self.tail
