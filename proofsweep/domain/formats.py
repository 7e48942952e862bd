"""Recognise an audio format by a file's first bytes, never by its name. Pure."""

from enum import StrEnum

# Bytes that `format_of` needs from the front of a file. Chosen: an MP3 needs its longest frame and the next header,
# 1,445 bytes, so half is enough as well; twice only reads more.
HEAD_BYTES = 4096


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


_CHUNKED = {
    (b"RIFF", b"WAVE"): AudioFormat.WAV,
    (b"RIFX", b"WAVE"): AudioFormat.WAV,
    (b"RF64", b"WAVE"): AudioFormat.RF64,
    (b"BW64", b"WAVE"): AudioFormat.BW64,
    (b"FORM", b"AIFF"): AudioFormat.AIFF,
    (b"FORM", b"AIFC"): AudioFormat.AIFF,
}
_MAGIC = {b"caff": AudioFormat.CAF, b"fLaC": AudioFormat.FLAC, b"OggS": AudioFormat.OGG}
_PICTURE_BRANDS = frozenset({b"avif", b"avis", b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1"})

# The header of an MPEG audio frame holds version, layer, bitrate and sample rate, which give the frame's length. The
# numbers are those of ISO/IEC 11172-3 and 13818-3, and of 13818-7 for AAC.
_FRAME_HEADER_BYTES = 4
_MPEG_1 = 3
_LAYER_III = 3
_AAC_RATES = 13
_KBITS = {
    True: (32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320),  # MPEG 1
    False: (8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160),  # MPEG 2 and 2.5
}
_NO_KBITS = (0, 15)  # free format, which few players support, and a forbidden value
_HERTZ = {
    (version, rate): hertz
    for version, rates in {3: (44100, 48000, 32000), 2: (22050, 24000, 16000), 0: (11025, 12000, 8000)}.items()
    for rate, hertz in enumerate(rates)
}


def format_of(head: bytes, *, tagged: bool = False) -> AudioFormat:
    """Name the format that starts with these bytes; any bytes have an answer.

    A container is recognised by its magic bytes, whatever follows. MP3 has none: it is a frame that another frame
    follows, so more bytes may change the answer.

    Args:
        head: the file's first bytes; `HEAD_BYTES` are enough, unless `tag_bytes` is larger.
        tagged: an ID3v2 tag stands before the bytes. MP3 files have such tags, so MP3 is then the default answer.
    """
    tag = tag_bytes(head)
    if tag or tagged:
        return _format_after_tag(head[tag:].lstrip(b"\0"))  # some writers put padding after the tag
    return _container_of(head) or (AudioFormat.MP3 if _is_mp3(head) else AudioFormat.UNKNOWN)


def tag_bytes(head: bytes) -> int:
    """Give the size of the ID3v2 tags before the audio, 0 without one; it may be larger than `head`."""
    end = 0
    while head[end : end + 3] == b"ID3" and len(head) >= end + 10:
        size = 0
        for seven_bits in head[end + 6 : end + 10]:
            size = size << 7 | seven_bits & 0x7F
        has_footer = head[end + 5] & 0x10
        end += 10 + size + (10 if has_footer else 0)
    return end


def mpeg_layer(frame: bytes) -> int | None:
    """Give the layer (1 to 3) of the MPEG audio frame that begins here; 0 for an AAC frame, None without a frame.

    Free format and reserved versions, bitrates and sample rates do not count as a frame.
    """
    if len(frame) < _FRAME_HEADER_BYTES or not _has_sync(frame):
        return None
    version, layer = frame[1] >> 3 & 3, frame[1] >> 1 & 3
    if layer == 0:
        is_adts = frame[1] & 0xF0 == 0xF0 and frame[2] >> 2 & 15 < _AAC_RATES  # noqa: PLR2004 - twelve bits of sync
        return 0 if is_adts else None
    if frame[2] >> 4 in _NO_KBITS or (version, frame[2] >> 2 & 3) not in _HERTZ:
        return None
    return 4 - layer


def _format_after_tag(rest: bytes) -> AudioFormat:
    if container := _container_of(rest):
        return container
    other_stream = _has_sync(rest) and not _frame_bytes(rest)  # MPEG layer I or II, or AAC
    return AudioFormat.UNKNOWN if other_stream else AudioFormat.MP3


def _container_of(head: bytes) -> AudioFormat | None:
    if chunked := _CHUNKED.get((head[:4], head[8:12])):
        return chunked  # whatever the size field between ID and type says
    if head[4:8] == b"ftyp":
        return None if head[8:12] in _PICTURE_BRANDS else AudioFormat.M4A
    return _MAGIC.get(head[:4])


def _is_mp3(head: bytes) -> bool:
    """Say whether a layer III frame begins here and, if the bytes reach that far, another one follows it."""
    size = _frame_bytes(head)
    following = head[size:]
    return size > 0 and (len(following) < _FRAME_HEADER_BYTES or _frame_bytes(following) > 0)


def _has_sync(head: bytes) -> bool:
    return head[:1] == b"\xff" and head[1:2] >= b"\xe0"


def _frame_bytes(frame: bytes) -> int:
    """Give the length of the layer III frame that begins here, 0 without one."""
    if mpeg_layer(frame) != _LAYER_III:
        return 0
    version, kbits, rate, padding = frame[1] >> 3 & 3, frame[2] >> 4, frame[2] >> 2 & 3, frame[2] >> 1 & 1
    mpeg_1 = version == _MPEG_1
    return (144_000 if mpeg_1 else 72_000) * _KBITS[mpeg_1][kbits - 1] // _HERTZ[version, rate] + padding
