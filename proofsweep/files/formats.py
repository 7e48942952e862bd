"""What the bytes of audio say, never its name: the format, and whether a WAV has a credential inside. Pure."""

import re
from collections.abc import Callable, Iterator
from enum import Enum, StrEnum
from typing import NamedTuple

HEAD_BYTES = 4096  # bytes that `format_of` needs from the front of a file
LEAST_AUDIO_BYTES = 4  # of the shortest content that is taken for audio: one header of MPEG, or a magic


class AudioFormat(StrEnum):
    """The values of the `audio_format` column."""

    WAV = "wav"
    RF64 = "rf64"
    BW64 = "bw64"
    AIFF = "aiff"
    CAF = "caf"
    MP3 = "mp3"
    M4A = "m4a"
    FLAC = "flac"
    OGG = "ogg"
    UNKNOWN = "unknown"


class Credential(Enum):
    """What the chunks of a file say of a credential inside."""

    FOUND = "found"
    NONE = "none"  # a whole RIFF WAV whose chunks are all known, and hold nothing that could be one
    UNKNOWN = "unknown"  # it may have one


Read = Callable[[int, int], bytes]
"""Gives so many bytes of a file at an offset, fewer only at its end."""

# The first four bytes, and those after the size.
_CHUNKED = {
    b"RIFFWAVE": AudioFormat.WAV,
    b"RIFXWAVE": AudioFormat.WAV,
    b"RF64WAVE": AudioFormat.RF64,
    b"BW64WAVE": AudioFormat.BW64,
    b"FORMAIFF": AudioFormat.AIFF,
    b"FORMAIFC": AudioFormat.AIFF,
}
_MAGIC = {b"caff": AudioFormat.CAF, b"fLaC": AudioFormat.FLAC, b"OggS": AudioFormat.OGG}

_FETCHED_BY = {b"version https://git-lfs.github.com/spec/": "git lfs pull", b"/annex/objects/": "git annex get"}
# Git LFS: less than 1,024 bytes with a version, an ID and a size. Those of git-annex are as long by its usual digests,
# and others are found when their turn comes.
GIT_POINTER_BYTES = range(100, 1025)

# A file of these holds audio alone, also if it has pictures as chapters; one of those is a film, or QuickTime's.
_AUDIO_BRANDS = frozenset({b"M4A ", b"M4B ", b"M4P "})
_VIDEO_BRANDS = frozenset({b"qt  ", b"M4V ", b"M4VH", b"M4VP", b"avc1", b"f4v ", b"3gp4", b"3gp5", b"3g2a"})
_VIDEO_TRACK = re.compile(rb"hdlr.{8}vide", re.DOTALL)
_BOX_HEADER_BYTES = 8
_MOST_BOXES = 1_000
_MOVIE_BYTES = 8 * 1024 * 1024  # that are searched of the box which describes the tracks

_PICTURE_BRANDS = frozenset({b"avif", b"avis", b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1"})

# The header of an MPEG audio frame holds version, layer, bitrate and sample rate. The numbers are those of
# ISO/IEC 11172-3 and 13818-3.
_TAG_HEADER_BYTES = 10  # of ID3v2; a footer is as long
_FRAME_HEADER_BYTES = 4
_RESERVED_VERSION, _RESERVED_RATE = 1, 3
_LAYER_III = 1
_NO_BITRATES = (0, 15)  # free format, which few players support, and a forbidden value

# Of a chunk that may be large, so much is searched; a larger one may hold a credential.
_SEARCHED_BYTES = 1024 * 1024
_RIFF_HEADER_BYTES = 12
_CHUNK_HEADER_BYTES = 8
_MOST_CHUNKS = 100  # a WAV has some ten
_WAVES = frozenset({b"RIFF", b"RF64", b"BW64"})
# A chunk of 4 GiB or more has this size; that of the audio then stands in the chunk `ds64` (EBU Tech 3306).
_SIZE_ELSEWHERE = 0xFFFFFFFF
# The C2PA specification names it; the contract names none.
_CREDENTIAL_CHUNK = "C2PA"
_NEVER_SEARCHED = frozenset({"fmt ", "data"})
# A C2PA manifest is a JUMBF box, which begins with its description (ISO/IEC 19566-5). XMP may name one elsewhere.
_MANIFEST = re.compile(rb"jumb.{4}jumd|dcterms:provenance", re.DOTALL)
# Chunks of the RIFF, BWF and ADM standards, and padding: nobody expects a manifest there. Any other chunk may hold one.
_PLAIN = {
    *("fact", "LIST", "cue ", "smpl", "inst", "plst", "PEAK", "bext", "iXML", "chna", "axml", "cart", "levl", "id3 "),
    *("ID3 ", "JUNK", "junk", "PAD ", "FLLR"),
}
# What such a chunk holds, in lower case and without zero bytes, if it speaks of a manifest, or has XMP or an ID3 frame
# for any content (GEOB, PRIV; ID3v2.2 has shorter names).
_HINTS = (b"c2pa", b"jumb", b"provenance", b"xmpmeta", b"rdf:rdf", b"geob", b"priv", b"id3\2")


def fetched_by(head: bytes) -> str | None:
    """Return the command that fetches a file for which a pointer of Git LFS or git-annex stands; None if none does."""
    for start, command in _FETCHED_BY.items():
        if head.startswith(start):
            return command
    return None


def format_of(head: bytes, *, tagged: bool = False) -> AudioFormat:
    """Name the format that starts with these bytes; any bytes have an answer.

    A container is recognised by its magic bytes, whatever follows. MP3 has none: it begins with a frame of layer III.
    After an ID3v2 tag (`tagged`) MP3 is the default.
    """
    tag = tag_bytes(head)
    is_tagged = tagged or tag > 0
    if is_tagged:
        head = head[tag:].lstrip(b"\0")  # some writers put padding after the tag
    container = _container_of(head)
    if container is not None:
        return container
    if _is_mp3_frame(head):
        return AudioFormat.MP3
    # Another stream begins with a frame, too: MPEG layer I or II, or AAC.
    if is_tagged and not _has_sync(head):
        return AudioFormat.MP3
    return AudioFormat.UNKNOWN


def is_video(read: Read, size_bytes: int) -> bool:
    """Whether an MP4 holds a film: by its brand, or by the tracks that it describes (ISO/IEC 14496-12)."""
    head = read(12, 0)
    brand = head[8:12]
    if head[4:8] != b"ftyp" or brand in _AUDIO_BRANDS:
        return False
    if brand in _VIDEO_BRANDS:
        return True
    tracks = _movie_box(read, size_bytes)
    return _VIDEO_TRACK.search(tracks) is not None


def _movie_box(read: Read, size_bytes: int) -> bytes:
    offset = 0
    for _ in range(_MOST_BOXES):
        head = read(_BOX_HEADER_BYTES + 8, offset)
        if len(head) < _BOX_HEADER_BYTES or offset >= size_bytes:
            break
        box_bytes = int.from_bytes(head[:4], "big")
        if box_bytes == 1:  # its size does not fit, and stands behind its name
            box_bytes = int.from_bytes(head[8:16], "big")
        if head[4:8] == b"moov":
            return read(min(box_bytes or size_bytes, _MOVIE_BYTES), offset)
        if box_bytes < _BOX_HEADER_BYTES:
            break
        offset += box_bytes
    return b""


def tag_bytes(head: bytes) -> int:
    """Return the size of the ID3v2 tags before the audio, 0 without one; it may be larger than `head`."""
    end = 0
    # A file may have several tags, one after another.
    while head[end : end + 3] == b"ID3" and len(head) >= end + _TAG_HEADER_BYTES:
        size = 0
        for seven_bits in head[end + 6 : end + _TAG_HEADER_BYTES]:
            size = size << 7 | seven_bits & 0x7F
        has_footer = head[end + 5] & 0x10
        end += _TAG_HEADER_BYTES + size
        if has_footer:
            end += _TAG_HEADER_BYTES
    return end


def _container_of(head: bytes) -> AudioFormat | None:
    chunked = _CHUNKED.get(head[:4] + head[8:12])
    if chunked is not None:
        return chunked  # whatever the size field between ID and type says
    if head[4:8] != b"ftyp":
        return _MAGIC.get(head[:4])
    return None if head[8:12] in _PICTURE_BRANDS else AudioFormat.M4A


def _has_sync(head: bytes) -> bool:
    return head[:1] == b"\xff" and head[1:2] >= b"\xe0"


def _is_mp3_frame(frame: bytes) -> bool:
    """Whether a frame of MPEG audio, layer III, begins here; free format and reserved values do not count."""
    if len(frame) < _FRAME_HEADER_BYTES or not _has_sync(frame):
        return False
    version, layer = frame[1] >> 3 & 3, frame[1] >> 1 & 3
    bitrate, rate = frame[2] >> 4, frame[2] >> 2 & 3
    if layer != _LAYER_III or version == _RESERVED_VERSION:
        return False
    return bitrate not in _NO_BITRATES and rate != _RESERVED_RATE


class _Chunk(NamedTuple):
    name: str
    start: int
    size_bytes: int

    @property
    def end(self) -> int:
        return self.start + self.size_bytes + self.size_bytes % 2  # a chunk of odd size is padded


def credential_in(read: Read, size_bytes: int) -> Credential:
    """Look into the chunks of a file of so many bytes."""
    chunks, is_plain = list[_Chunk](), True
    for chunk in _chunks_of(read, size_bytes):
        if chunk.name == _CREDENTIAL_CHUNK:
            return Credential.FOUND
        chunks.append(chunk)
        if chunk.name not in _NEVER_SEARCHED:
            content = read(min(chunk.size_bytes, _SEARCHED_BYTES), chunk.start)
            if _MANIFEST.search(content):
                return Credential.FOUND
            is_plain = is_plain and _is_plain(chunk, content)
    if is_plain and _is_whole(read, size_bytes, chunks):
        return Credential.NONE
    return Credential.UNKNOWN


def _is_plain(chunk: _Chunk, content: bytes) -> bool:
    # A chunk that is larger than what was searched may hold a credential behind that.
    if chunk.name not in _PLAIN or len(content) != chunk.size_bytes:
        return False
    text = content.replace(b"\0", b"").lower()  # UTF-16 reads as UTF-8 then
    return not any(hint in text for hint in _HINTS)


def _is_whole(read: Read, size_bytes: int, chunks: list[_Chunk]) -> bool:
    """Whether the chunks fill the file, as its header says, and one of them is the audio."""
    names = [chunk.name for chunk in chunks]
    if names.count("data") != 1:
        return False
    head = read(_RIFF_HEADER_BYTES, 0)
    said_bytes = _CHUNK_HEADER_BYTES + int.from_bytes(head[4:8], "little")
    # The last chunk's padding may be absent, and the header may leave it out.
    last = chunks[-1]
    ends = {last.start + last.size_bytes, last.end}
    is_filled = size_bytes in ends and said_bytes in ends
    return head[:4] == b"RIFF" and is_filled and said_bytes <= size_bytes


def _chunks_of(read: Read, size_bytes: int) -> Iterator[_Chunk]:
    offset, data_bytes = _RIFF_HEADER_BYTES, 0
    front = read(offset, 0)
    if front[:4] not in _WAVES or front[8:] != b"WAVE":
        return
    for _ in range(_MOST_CHUNKS):
        if offset >= size_bytes:
            return
        head = read(_CHUNK_HEADER_BYTES, offset)
        if len(head) < _CHUNK_HEADER_BYTES:
            return
        name = head[:4].decode("latin-1")
        start = offset + _CHUNK_HEADER_BYTES
        said_bytes = int.from_bytes(head[4:], "little")
        if name == "ds64":  # holds the size of the whole file, then that of the audio
            size = read(8, start + 8)
            data_bytes = int.from_bytes(size, "little")
        elif name == "data" and said_bytes == _SIZE_ELSEWHERE and data_bytes:
            said_bytes = data_bytes
        chunk = _Chunk(name, start, said_bytes)
        yield chunk
        offset = chunk.end
