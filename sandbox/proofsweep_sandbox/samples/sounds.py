"""Sounds: small audio files of each format. Pure."""

import math
import struct
from array import array
from random import Random

_RATE_HZ = 44_100
_FRAME_SECONDS = 1152 / _RATE_HZ
# 128 kbit/s.
_MEDIA_BYTES_PER_SECOND = 16_000
# MPEG-1 layer III, 128 kbit/s, 44.1 kHz, mono; a frame whose side information is all zero is silence.
_FRAME = b"\xff\xfb\x90\xc0" + bytes(413)
# AIFF stores its rate as an 80-bit float.
_EXTENDED_RATE = struct.pack(">HQ", 16_383 + 15, _RATE_HZ << 48)


def samples_of(seconds: float, chance: Random) -> "array[int]":
    """Return a tone of a random pitch and loudness as 16-bit samples, 44.1 kHz, mono."""
    period = chance.randrange(40, 400)
    loudness = chance.randrange(1_000, 30_000)
    cycle: list[int] = []
    for step in range(period):
        angle = 2 * math.pi * step / period
        cycle.append(round(loudness * math.sin(angle)))
    count = round(seconds * _RATE_HZ)
    tone = cycle * (count // period + 1)
    return array("h", tone[:count])


def wav(seconds: float, chance: Random) -> bytes:
    tone = samples_of(seconds, chance).tobytes()
    return wav_header(len(tone)) + tone


def wav_header(tone_bytes: int) -> bytes:
    """Return the 44-byte header of a WAV with this many bytes of 16-bit mono samples."""
    form = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, _RATE_HZ, 2 * _RATE_HZ, 2, 16)
    riff = struct.pack("<4sI4s", b"RIFF", 36 + tone_bytes, b"WAVE")
    return riff + form + struct.pack("<4sI", b"data", tone_bytes)


def aiff(seconds: float, chance: Random) -> bytes:
    tone = _big_endian(seconds, chance)
    frames = len(tone) // 2
    common = struct.pack(">hIh", 1, frames, 16) + _EXTENDED_RATE
    sound = bytes(8) + tone
    chunks = _chunk(b"COMM", common) + _chunk(b"SSND", sound)
    return _chunk(b"FORM", b"AIFF" + chunks)


def caf(seconds: float, chance: Random) -> bytes:
    tone = _big_endian(seconds, chance)
    description = struct.pack(">d4sIIIII", _RATE_HZ, b"lpcm", 0, 2, 1, 1, 16)
    head = b"caff\x00\x01\x00\x00" + struct.pack(">4sq", b"desc", len(description))
    data = struct.pack(">4sqI", b"data", len(tone) + 4, 0)
    return head + description + data + tone


def mp3(seconds: float, chance: Random) -> bytes:
    """Return an MP3: an ID3 tag that makes it unique, then silent frames."""
    title = b"\x00tone " + str(chance.getrandbits(64)).encode()
    text = struct.pack(">4sIH", b"TIT2", len(title), 0) + title
    # An ID3 tag has its size in four bytes of seven bits; this one is shorter than 128 bytes.
    tag = b"ID3\x03\x00\x00" + struct.pack(">I", len(text))
    frames = math.ceil(seconds / _FRAME_SECONDS)
    return tag + text + _FRAME * frames


def m4a(seconds: float, chance: Random) -> bytes:
    """Return the first boxes of an M4A, and random media of 128 kbit/s."""
    brand = _box(b"ftyp", b"M4A \x00\x00\x02\x00M4A mp42isom")
    media = _box(b"mdat", _media(seconds, chance))
    return brand + _box(b"moov", b"") + media


def flac(seconds: float, chance: Random) -> bytes:
    """Return the header of a FLAC, and random bytes."""
    header = b"fLaC" + bytes([0x80, 0, 0, 34])
    block = struct.pack(">HH30x", 4096, 4096)
    return header + block + _media(seconds, chance)


def ogg(seconds: float, chance: Random) -> bytes:
    """Return the header of an Ogg Opus, and random bytes."""
    serial = chance.getrandbits(32)
    page = struct.pack("<4sBBqIIIBB", b"OggS", 0, 2, 0, serial, 0, 0, 1, 19)
    head = struct.pack("<8sBBHIhB", b"OpusHead", 1, 1, 0, _RATE_HZ, 0, 0)
    return page + head + _media(seconds, chance)


def _media(seconds: float, chance: Random) -> bytes:
    size_bytes = math.ceil(seconds * _MEDIA_BYTES_PER_SECOND)
    return chance.randbytes(size_bytes)


def _big_endian(seconds: float, chance: Random) -> bytes:
    tone = samples_of(seconds, chance)
    tone.byteswap()
    return tone.tobytes()


def _chunk(label: bytes, body: bytes) -> bytes:
    padding = bytes(len(body) % 2)
    return label + struct.pack(">I", len(body)) + body + padding


def _box(label: bytes, body: bytes) -> bytes:
    return struct.pack(">I4s", len(body) + 8, label) + body
