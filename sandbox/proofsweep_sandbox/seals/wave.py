"""Check the chunks of a WAV before it is signed."""

import os
import struct
from pathlib import Path
from typing import BinaryIO


class NotSignable(ValueError):
    """The audio cannot carry a one-file credential; the message says why."""


def check_wave(audio: Path) -> None:
    """Raise NotSignable unless `audio` is a RIFF WAVE with correct sizes.

    The C2PA library drops the audio of a WAV with a wrong size, and the signed rest is then reported as trusted.
    """
    with audio.open("rb") as stream:
        size = os.fstat(stream.fileno()).st_size
        magic, riff_size, form = _header(stream)
        if magic in {b"RF64", b"BW64"}:
            raise NotSignable(f"{magic.decode()} cannot carry a C2PA manifest; convert it to a WAV below 4 GiB")
        if (magic, form) != (b"RIFF", b"WAVE"):
            raise NotSignable("the audio is not a WAV; issue a legacy pair for it")
        if riff_size + 8 != size:
            raise NotSignable(f"the RIFF header says {riff_size + 8} bytes, the file has {size}")
        if not {b"fmt ", b"data"} <= _chunks(stream, size):
            raise NotSignable("the WAV lacks a format or a data chunk")


def _header(stream: BinaryIO) -> tuple[bytes, int, bytes]:
    head = stream.read(12)
    if len(head) < 12:  # noqa: PLR2004 - magic, size and form take four bytes each
        raise NotSignable("the file is too short to be a WAV")
    magic, riff_size, form = struct.unpack("<4sI4s", head)
    return magic, riff_size, form


def _chunks(stream: BinaryIO, size: int) -> set[bytes]:
    found: set[bytes] = set()
    at = 12
    while at + 8 <= size:
        stream.seek(at)
        label, length = struct.unpack("<4sI", stream.read(8))
        if at + 8 + length > size:
            raise NotSignable(f"chunk {label!r} reaches beyond the end of the file")
        found.add(label)
        at += 8 + length + length % 2
    return found
