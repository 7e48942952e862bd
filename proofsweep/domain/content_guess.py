"""What a file seems to be whose first bytes begin no audio that is known, so that a person knows what to ask for. Pure.

Only what is surely something else keeps a pair from being sent: a stray byte in front of an MP3 is for the service to
judge, since the sidecar may well have been made for these very bytes.
"""

import re
from dataclasses import dataclass

from proofsweep.domain.formats import mpeg_layer

_STARTS = {
    b"%PDF-": "a PDF document",
    b"PK\x03\x04": "a ZIP archive",
    b"\x1f\x8b\x08": "a gzip archive",
    b"7z\xbc\xaf\x27\x1c": "a 7z archive",
    b"Rar!\x1a\x07": "a RAR archive",
    b"\xff\xd8\xff": "a JPEG picture",
    b"\x89PNG\r\n": "a PNG picture",
    b"GIF8": "a GIF picture",
    b"riff\x2e\x91\xcf\x11": "Sony Wave64, which is no WAV",
    b"\x30\x26\xb2\x75\x8e\x66\xcf\x11": "Windows Media",
    b"\x1aE\xdf\xa3": "Matroska or WebM",
    b"wvpk": "WavPack",
    b"MAC ": "Monkey's Audio",
    b"DSD ": "DSF",
    b"FRM8": "DSDIFF",
    b"MThd": "MIDI",
    b".snd": "Sun/NeXT audio (AU)",
    b"#!AMR": "AMR",
    b"ADIF": "AAC without a container",
}
_WAVE_MARKS = (b"RIFF", b"RIFX", b"RF64", b"BW64")
_CHUNKED = 12
_STRAY_WAVE = re.compile(rb"(?:RIFF|RIFX|RF64|BW64).{4}WAVE", re.DOTALL)
_BOMS = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
_PAGE = re.compile(r"\s*<(?:!doctype\s+html|html)", re.IGNORECASE)
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_LONGEST_CHARACTER = 4


@dataclass(frozen=True, slots=True)
class ContentGuess:
    """What unknown content seems to be; `is_other` where it is surely none of the formats that the service lists."""

    words: str
    is_other: bool = False


UNKNOWN_CONTENT = ContentGuess("no audio that is known here")


def guess_content(front: bytes) -> ContentGuess:
    """Say what these bytes seem to be, which stand where audio should begin and are none; any bytes have an answer."""
    for start, words in _STARTS.items():
        if front.startswith(start):
            return ContentGuess(words, is_other=True)
    return _chunked(front) or _stray(front) or _text(front) or _stream(front) or UNKNOWN_CONTENT


def _chunked(front: bytes) -> ContentGuess | None:
    mark = front[:4]
    if mark in {*_WAVE_MARKS, b"FORM"} and len(front) < _CHUNKED:
        return ContentGuess("the first bytes of a WAV or AIFF, cut off within its header")
    if mark in {*_WAVE_MARKS, b"FORM"}:
        return ContentGuess("a RIFF or IFF file that holds no audio that is known here", is_other=True)
    return ContentGuess("a HEIF or AVIF picture", is_other=True) if front[4:8] == b"ftyp" else None


def _stray(front: bytes) -> ContentGuess | None:
    if wave := _STRAY_WAVE.search(front):
        return ContentGuess(f"a WAV behind {wave.start()} bytes that do not belong to it")
    return ContentGuess("zero bytes where the audio should begin") if front and not front.strip(b"\0") else None


def _text(front: bytes) -> ContentGuess | None:
    """Read text to the last character that is whole; control characters are none of it."""
    try:
        text = _decoded(front)
    except UnicodeDecodeError:
        return None
    if not text or _CONTROL.search(text):
        return None
    return ContentGuess("an HTML page" if _PAGE.match(text) else "text", is_other=True)


def _decoded(front: bytes) -> str:
    if encoding := _BOMS.get(front[:2]):
        return front[2 : len(front) // 2 * 2].decode(encoding)
    try:
        return front.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if len(front) - error.start >= _LONGEST_CHARACTER:
            raise
        return front[: error.start].decode("utf-8-sig")


def _stream(front: bytes) -> ContentGuess | None:
    """Tell the streams that share MP3's sync from MP3 itself."""
    match mpeg_layer(front):
        case 0:
            return ContentGuess("AAC without a container", is_other=True)
        case 1 | 2:
            return ContentGuess("MPEG audio of layer I or II", is_other=True)
        case _:
            return None
