"""The slot's form POST: every field in the order received, then the file (contract, Core flow 2)."""

import secrets
from collections.abc import Iterable, Iterator
from typing import Protocol

from proofsweep.client.messages import Request
from proofsweep.contract.models import UploadResponse
from proofsweep.domain.exchanges import Call
from proofsweep.domain.items import FileFacts

_NEUTRAL_NAME = "audio"


class AudioBody(Protocol):
    """What is sent: as many bytes as its facts say, which may be read again from the start."""

    facts: FileFacts

    def chunks(self) -> Iterator[bytes]:
        """Read from the start; raises SourceError when the source is not what it was."""
        ...


def slot_request(slot: UploadResponse, audio: AudioBody) -> Request:
    """Make the multipart form of one slot, streamed, with its length known beforehand.

    Object storage refuses chunked transfer, so Content-Length is a must; the local file name stays here.
    """
    boundary = secrets.token_hex(16)
    head = _head(boundary, slot.fields)
    tail = f"\r\n--{boundary}--\r\n".encode()
    return Request(
        call=Call.SLOT,
        method="POST",
        url=slot.url.get_secret_value(),
        headers={"Content-Type": f"multipart/form-data; boundary={boundary}"},
        content=_Body(head, audio, tail),
        content_bytes=len(head) + audio.facts.size_bytes + len(tail),
    )


class _Body(Iterable[bytes]):
    """Head, audio and tail; iterating again starts again, as an attempt of its own needs it."""

    def __init__(self, head: bytes, audio: AudioBody, tail: bytes) -> None:
        self._head, self._audio, self._tail = head, audio, tail

    def __iter__(self) -> Iterator[bytes]:
        pieces = self._audio.chunks()
        yield self._head + next(pieces, b"")  # in one packet: most of the wait for a small file is the network's
        yield from pieces
        yield self._tail


def _head(boundary: str, fields: dict[str, str]) -> bytes:
    parts = [_part(boundary, f'name="{_quoted(name)}"', value) for name, value in fields.items()]
    file = _part(boundary, f'name="file"; filename="{_NEUTRAL_NAME}"\r\nContent-Type: application/octet-stream', "")
    return ("".join(parts) + file.removesuffix("\r\n")).encode("utf-8", "replace")


def _part(boundary: str, disposition: str, value: str) -> str:
    return f"--{boundary}\r\nContent-Disposition: form-data; {disposition}\r\n\r\n{value}\r\n"


def _quoted(name: str) -> str:
    """Write a field's name as HTML's form encoding does."""
    return name.replace("\r", "%0D").replace("\n", "%0A").replace('"', "%22")
