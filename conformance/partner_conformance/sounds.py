"""Generated audio, and altered copies of audio and sidecars. Pure."""

import secrets
import struct

from partner_conformance.credentials import chunk_of

# The lowest common rate, for small files.
_RATE_HZ = 8_000
# RIFF: the header of a PCM WAV.
_HEADER_BYTES = 44


def silence(size_bytes: int = _HEADER_BYTES + 1_600) -> bytes:
    """Return a mono WAV of exactly this size: silence, and a few random samples that make it unique."""
    samples = size_bytes - _HEADER_BYTES
    form = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, _RATE_HZ, _RATE_HZ, 1, 8)
    head = b"RIFF" + struct.pack("<I", size_bytes - 8) + b"WAVE" + form + b"data" + struct.pack("<I", samples)
    return head + secrets.token_bytes(16) + b"\x80" * (samples - 16)


def is_wav(audio: bytes) -> bool:
    """Return whether these are the first bytes of a WAV."""
    return audio[:4] in {b"RIFF", b"RF64", b"BW64"} and audio[8:12] == b"WAVE"


def with_another_sample(audio: bytes, place: float = 0.5) -> bytes:
    """Return audio with one changed bit, among a WAV's samples or in another file; `place` is from 0 to 1."""
    start, length = _samples(audio)
    at = start + round((length - 1) * place)
    return audio[:at] + bytes([audio[at] ^ 1]) + audio[at + 1 :]


def with_another_letter(sidecar: bytes) -> bytes:
    """Return a sidecar with one changed byte: the first letter or digit from its middle on, if there is one."""
    half = len(sidecar) // 2
    near = (at for at in range(half, len(sidecar)) if chr(sidecar[at]).isalnum() and sidecar[at] < 0x80)  # noqa: PLR2004 - ASCII
    at = next(near, half)
    other = ord("7") if sidecar[at] != ord("7") else ord("3")
    return sidecar[:at] + bytes([other]) + sidecar[at + 1 :]


def _samples(audio: bytes) -> tuple[int, int]:
    """Return the offset and the length of a WAV's samples, in bytes."""
    start, end = chunk_of(audio, b"data") or (0, len(audio))
    return start, end - start
