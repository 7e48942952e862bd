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
_EXTENDED_RATE = struct.pack(">HQ", 16_383 + 15, _RATE_HZ << 48)  # AIFF stores its rate as an 80-bit float


def samples_of(seconds: float, chance: Random) -> "array[int]":
    """Return a tone of a random pitch and loudness as 16-bit samples, 44.1 kHz, mono."""
    period, loudness = chance.randrange(40, 400), chance.randrange(1_000, 30_000)
    cycle = [round(loudness * math.sin(2 * math.pi * at / period)) for at in range(period)]
    count = round(seconds * _RATE_HZ)
    return array("h", (cycle * (count // period + 1))[:count])


def wav(seconds: float, chance: Random) -> bytes:
    tone = samples_of(seconds, chance).tobytes()
    return wav_header(len(tone)) + tone


def wav_header(tone_bytes: int) -> bytes:
    """Return the 44-byte header of a WAV with this many bytes of 16-bit mono samples."""
    form = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, _RATE_HZ, 2 * _RATE_HZ, 2, 16)
    return b"RIFF" + struct.pack("<I", 36 + tone_bytes) + b"WAVE" + form + b"data" + struct.pack("<I", tone_bytes)


def aiff(seconds: float, chance: Random) -> bytes:
    tone = _big_endian(seconds, chance)
    common = struct.pack(">hIh", 1, len(tone) // 2, 16) + _EXTENDED_RATE
    chunks = _chunk(b"COMM", common) + _chunk(b"SSND", bytes(8) + tone)
    return _chunk(b"FORM", b"AIFF" + chunks)


def caf(seconds: float, chance: Random) -> bytes:
    tone = _big_endian(seconds, chance)
    description = struct.pack(">d4sIIIII", _RATE_HZ, b"lpcm", 0, 2, 1, 1, 16)
    head = b"caff\x00\x01\x00\x00" + b"desc" + struct.pack(">q", len(description)) + description
    return head + b"data" + struct.pack(">qI", len(tone) + 4, 0) + tone


def mp3(seconds: float, chance: Random) -> bytes:
    """Return an MP3: an ID3 tag that makes it unique, then silent frames."""
    title = b"\x00tone " + str(chance.getrandbits(64)).encode()
    frame = b"TIT2" + struct.pack(">IH", len(title), 0) + title
    tag = b"ID3\x03\x00\x00" + bytes([0, 0, 0, len(frame)]) + frame
    return tag + _FRAME * math.ceil(seconds / _FRAME_SECONDS)


def m4a(seconds: float, chance: Random) -> bytes:
    """Return the first boxes of an M4A, and random media of 128 kbit/s."""
    brand = _box(b"ftyp", b"M4A \x00\x00\x02\x00M4A mp42isom")
    return brand + _box(b"moov", b"") + _box(b"mdat", chance.randbytes(math.ceil(seconds * _MEDIA_BYTES_PER_SECOND)))


def flac(seconds: float, chance: Random) -> bytes:
    """Return the header of a FLAC, and random bytes."""
    block = bytes([0x80, 0, 0, 34]) + struct.pack(">HH", 4096, 4096) + bytes(30)
    return b"fLaC" + block + chance.randbytes(math.ceil(seconds * _MEDIA_BYTES_PER_SECOND))


def ogg(seconds: float, chance: Random) -> bytes:
    """Return the header of an Ogg Opus, and random bytes."""
    page = b"OggS" + struct.pack("<BBqIIIBB", 0, 2, 0, chance.getrandbits(32), 0, 0, 1, 19)
    head = b"OpusHead" + struct.pack("<BBHIhB", 1, 1, 0, _RATE_HZ, 0, 0)
    return page + head + chance.randbytes(math.ceil(seconds * _MEDIA_BYTES_PER_SECOND))


def _big_endian(seconds: float, chance: Random) -> bytes:
    tone = samples_of(seconds, chance)
    tone.byteswap()
    return tone.tobytes()


def _chunk(label: bytes, body: bytes) -> bytes:
    return label + struct.pack(">I", len(body)) + body + bytes(len(body) % 2)


def _box(label: bytes, body: bytes) -> bytes:
    return struct.pack(">I4s", len(body) + 8, label) + body
