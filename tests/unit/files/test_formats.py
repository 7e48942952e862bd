"""A format is told by the first bytes."""

import struct
from pathlib import Path
from random import Random

import pytest
import soundfile
from hypothesis import given
from hypothesis import strategies as st

from proofsweep.files.audio import AudioFile, open_audio
from proofsweep.files.formats import HEAD_BYTES, AudioFormat
from tests.unit.files.held_file import HeldFile

WAV, AIFF, CAF, MP3, M4A = (AudioFormat(name) for name in ("wav", "aiff", "caf", "mp3", "m4a"))
UNKNOWN, FLAC, OGG = AudioFormat.UNKNOWN, AudioFormat.FLAC, AudioFormat.OGG
CHANCE = Random(20)  # noqa: S311 - sound, not a secret
NOISE = CHANCE.randbytes(3000)
FRAME = b"\xff\xfb\x90\x00" + bytes(413)  # MPEG 1 layer III, 128 kbit/s at 44.1 kHz: 417 bytes
MP3_BYTES = FRAME * 4


def wave(*, mark: bytes = b"RIFF", size: int | None = None, order: str = "<") -> bytes:
    """Make a WAV; `size` is what its header says, the truth by default."""
    form = b"fmt " + struct.pack(f"{order}IHHIIHH", 16, 1, 1, 44_100, 88_200, 2, 16)
    body = b"WAVE" + form + b"data" + struct.pack(f"{order}I", 400) + NOISE[:400]
    return mark + struct.pack(f"{order}I", len(body) if size is None else size) + body


def tag(body_bytes: int, *, version: int = 3, flags: int = 0) -> bytes:
    """Make an ID3v2 tag with so many bytes of picture; flag 0x10 is a footer, 0x80 unsynchronised."""
    size = bytes(body_bytes >> shift & 0x7F for shift in (21, 14, 7, 0))
    head = bytes([version, 0, flags]) + size
    return b"ID3" + head + NOISE[:1] * body_bytes + (b"3DI" + head if flags & 0x10 else b"")


def movie(brand: bytes, *boxes: bytes) -> bytes:
    return b"\0\0\0\x18ftyp" + brand + b"\0\0\0\0isommp42" + b"".join(boxes) + NOISE


EDGES = {
    # WAV, whatever its sizes say: the service judges.
    "wav": (wave(), WAV),
    "wav whose size spells ftyp": (wave(size=int.from_bytes(b"ftyp", "little")), WAV),
    "wav of big endian": (wave(mark=b"RIFX", order=">"), WAV),
    "wav behind an id3 tag": (tag(40) + wave(), WAV),
    "rf64": (wave(mark=b"RF64", size=0xFFFFFFFF), AudioFormat.RF64),
    "bw64": (wave(mark=b"BW64", size=0xFFFFFFFF), AudioFormat.BW64),
    # What was a WAV once: no credential of one file can be read from it, a sidecar may still fit its bytes.
    "wav cut off in its header": (wave()[:11], UNKNOWN),
    "zero bytes": (bytes(5000), UNKNOWN),
    # The pair's formats.
    "aiff-c": (b"FORM\0\0\0\x2eAIFCFVER" + NOISE, AIFF),
    "caf": (b"caff\0\1\0\0desc" + NOISE, CAF),
    "mp3": (MP3_BYTES, MP3),
    "mp3 with a cover of 3 MB": (tag(3_000_000) + MP3_BYTES, MP3),
    "mp3 with a tag and its footer": (tag(500, version=4, flags=0x10) + MP3_BYTES, MP3),
    "mp3 with two tags, the second long": (tag(30) + tag(9000) + MP3_BYTES, MP3),
    "mp3 with a tag that never ends": (tag(9000)[:600], MP3),
    "mp3 of free format behind a tag": (tag(30) + b"\xff\xfb\x00\x00" + NOISE, UNKNOWN),
    "mp3 behind a byte that was left over": (b"\x07" + MP3_BYTES, UNKNOWN),
    "mp3 of one frame": (FRAME, MP3),
    "mp3 with padding after its tag": (tag(40) + bytes(30) + MP3_BYTES, MP3),
    "mp3 of mpeg 2": ((b"\xff\xf3\x40\x00" + bytes(100)) * 2, MP3),  # other bitrates, half the samples
    "a frame without bitrate": (b"\xff\xfb\xf0\x00" + bytes(600), UNKNOWN),
    "m4a": (movie(b"M4A "), M4A),
    # What the contract does not list.
    "flac": (b"fLaC\0\0\0\x22" + NOISE, FLAC),
    "ogg vorbis": (b"OggS\0\2" + bytes(22) + b"\1\x1e\1vorbis" + NOISE, OGG),
    "aac": (b"\xff\xf1\x50\x80" + NOISE, UNKNOWN),
    "mpeg layer II": (b"\xff\xfd\x84\x04" + NOISE, UNKNOWN),
    "nothing": (b"", UNKNOWN),
    "photograph": (movie(b"heic"), UNKNOWN),
    "text": ("Größe, länge\n".encode() * 400, UNKNOWN),
}


@pytest.mark.parametrize(("content", "audio_format"), EDGES.values(), ids=EDGES)
def test_an_edge_is_told(content: bytes, audio_format: AudioFormat) -> None:
    """Whatever sizes say; what is in doubt is unknown."""
    assert AudioFile(HeldFile(content)).audio_format is audio_format


FRONTS = st.one_of(st.binary(max_size=6000), st.sampled_from([content[:7000] for content, _ in EDGES.values()]))


@given(FRONTS, st.binary(max_size=50), st.integers(1, 5000))
def test_any_bytes_in_any_pieces_are_looked_at_alike(front: bytes, rest: bytes, most_bytes: int) -> None:
    """The look never fails, reads two heads at most, and does not depend on how the reads fall."""
    whole, stingy = HeldFile(front + rest), HeldFile(front + rest, most_bytes=most_bytes)

    expected, audio = AudioFile(whole), AudioFile(stingy)

    assert audio.audio_format == expected.audio_format
    assert stingy.given_bytes == whole.given_bytes <= 2 * HEAD_BYTES


OF_SOUNDFILE = {"WAV": WAV, "WAVEX": WAV, "RF64": AudioFormat.RF64, "AIFF": AIFF, "CAF": CAF, "FLAC": FLAC, "OGG": OGG}


def test_libsndfile_sees_the_same_formats(corpus: Path) -> None:
    """Where it can read a real file, its format is the one that we tell."""
    differing = {}

    for file in filter(Path.is_file, corpus.rglob("*")):
        try:
            info = soundfile.info(str(file))
        except soundfile.LibsndfileError:
            continue
        other = OF_SOUNDFILE.get(info.format, MP3 if info.subtype == "MPEG_LAYER_III" else UNKNOWN)
        with open_audio(str(file)) as audio:
            if audio.audio_format is not other:
                differing[file.name] = (audio.audio_format, other)

    assert differing == {}
