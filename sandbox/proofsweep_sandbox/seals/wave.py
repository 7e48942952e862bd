"""Check the chunks of a WAV before it is signed."""

import struct


class NotSignable(ValueError):
    """The audio cannot carry a one-file credential; the message says why."""


def check_wave(audio: bytes) -> None:
    """Raise NotSignable unless `audio` is a RIFF WAVE with correct sizes.

    The C2PA library drops the audio of a WAV with a wrong size, and the signed rest is then reported as trusted.
    """
    if len(audio) < 12:  # noqa: PLR2004 - magic, size and form take four bytes each
        raise NotSignable("the file is too short to be a WAV")
    magic, riff_size, form = struct.unpack_from("<4sI4s", audio)
    if magic in {b"RF64", b"BW64"}:
        raise NotSignable(f"{magic.decode()} cannot carry a C2PA manifest; convert it to a WAV below 4 GiB")
    if (magic, form) != (b"RIFF", b"WAVE"):
        raise NotSignable("the audio is not a WAV; issue a legacy pair for it")
    if riff_size + 8 != len(audio):
        raise NotSignable(f"the RIFF header says {riff_size + 8} bytes, the file has {len(audio)}")
    found, at = set(), 12
    while at + 8 <= len(audio):
        label, length = struct.unpack_from("<4sI", audio, at)
        if at + 8 + length > len(audio):
            raise NotSignable(f"chunk {label!r} reaches beyond the end of the file")
        found.add(label)
        at += 8 + length + length % 2
    if not {b"fmt ", b"data"} <= found:
        raise NotSignable("the WAV lacks a format or a data chunk")
