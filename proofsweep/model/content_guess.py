"""Guess what a file is when its first bytes are not a known audio format, so that a person knows what to do. Pure.

A pair is refused only if its audio is certainly something else. A stray byte before an MP3 does not refuse it: the
sidecar may have been made for these exact bytes, and the service decides.
"""

import re
from dataclasses import dataclass

from proofsweep.model.formats import mpeg_layer, unlisted_audio

_STARTS = {
    b"%PDF-": "a PDF document",
    b"PK\x03\x04": "a ZIP archive",
    b"\x1f\x8b\x08": "a gzip archive",
    b"7z\xbc\xaf\x27\x1c": "a 7z archive",
    b"Rar!\x1a\x07": "a RAR archive",
    b"\xff\xd8\xff": "a JPEG picture",
    b"\x89PNG\r\n": "a PNG picture",
    b"GIF8": "a GIF picture",
    b"MThd": "MIDI",
}
_CHUNK_IDS = frozenset({b"RIFF", b"RIFX", b"RF64", b"BW64", b"FORM"})
_CHUNK_HEADER_BYTES = 12  # four of ID, four of size, four of type
_STRAY_WAVE = re.compile(rb"(?:RIFF|RIFX|RF64|BW64).{4}WAVE", re.DOTALL)
_BOMS = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
_HTML = re.compile(r"\s*<(?:!doctype\s+html|html)", re.IGNORECASE)
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_MAX_UTF8_CHARACTER_BYTES = 4


@dataclass(frozen=True, slots=True)
class ContentGuess:
    """What unknown content seems to be."""

    words: str
    is_other: bool = False  # it is certainly not a format that the service takes
    is_audio: bool = False  # it is audio, of a format that the contract does not list


UNKNOWN_CONTENT = ContentGuess("not a known audio format")


def guess_content(front: bytes) -> ContentGuess:
    """Return what bytes seem to be that are not audio, although audio should begin here. Any bytes have an answer."""
    for start, words in _STARTS.items():
        if front.startswith(start):
            return ContentGuess(words, is_other=True)
    return _chunked(front) or _text(front) or _unlisted(front) or _stray(front) or _stream(front) or UNKNOWN_CONTENT


def _unlisted(front: bytes) -> ContentGuess | None:
    """Name other audio; text comes before this, because it may begin with the same letters."""
    words = unlisted_audio(front)
    return None if words is None else ContentGuess(words, is_other=True, is_audio=True)


def _chunked(front: bytes) -> ContentGuess | None:
    if front[:4] in _CHUNK_IDS and len(front) < _CHUNK_HEADER_BYTES:
        return ContentGuess("the first bytes of a WAV or AIFF, cut off within its header")
    if front[:4] in _CHUNK_IDS:
        return ContentGuess("a RIFF or IFF file without known audio", is_other=True)
    return ContentGuess("a HEIF or AVIF picture", is_other=True) if front[4:8] == b"ftyp" else None


def _stray(front: bytes) -> ContentGuess | None:
    if wave := _STRAY_WAVE.search(front):
        return ContentGuess(f"a WAV after {wave.start()} bytes that do not belong to it")
    return ContentGuess("zero bytes where the audio should begin") if front and not front.strip(b"\0") else None


def _text(front: bytes) -> ContentGuess | None:
    """Recognise text up to its last whole character; text has no control characters."""
    try:
        text = _decoded(front)
    except UnicodeDecodeError:
        return None
    if not text or _CONTROL.search(text):
        return None
    return ContentGuess("an HTML page" if _HTML.match(text) else "text", is_other=True)


def _decoded(front: bytes) -> str:
    if encoding := _BOMS.get(front[:2]):
        return front[2 : len(front) // 2 * 2].decode(encoding)
    try:
        return front.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if len(front) - error.start >= _MAX_UTF8_CHARACTER_BYTES:
            raise
        return front[: error.start].decode("utf-8-sig")


def _stream(front: bytes) -> ContentGuess | None:
    match mpeg_layer(front):
        case 0:
            return ContentGuess("AAC without a container", is_other=True, is_audio=True)
        case 1 | 2:
            return ContentGuess("MPEG audio of layer I or II", is_other=True, is_audio=True)
        case _:
            return None
