"""Find out how a manifest of text is encoded, by rules that docs/catalogs.md states."""

import codecs
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from io import BufferedIOBase
from itertools import chain
from typing import Final

from proofsweep.domain.text import marked_codec

_PIECE_BYTES = 1024 * 1024
# The bytes that Windows-1252 does not define, and where its letters are: below 0xC0 are those of Mac Roman and DOS.
_UNDEFINED_BYTES = frozenset({0x81, 0x8D, 0x8F, 0x90, 0x9D})
_LETTER_BYTES = frozenset(range(0xC0, 0x100)) - {0xD7, 0xF7}
_RAW_BYTE = re.compile("[\udc80-\udcff]")
_OTHER_LETTER = re.compile("[\x80-\udc7f\udd00-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class Encoding:
    name: str  # the codec's
    is_guess: bool = False  # only the letters speak for it; then names of files may stand in their own bytes
    has_raw_bytes: bool = False  # some bytes are not of it, which are kept as the names of files have them

    @property
    def words(self) -> str:
        names = {"cp1252": "Windows-1252", "utf-8": "UTF-8"}
        named = names.get(self.name, self.name.upper() if self.name.startswith("utf") else self.name)
        return f"{named} with bytes that are not" if self.has_raw_bytes else named

    @property
    def codec(self) -> str:
        """Return the codec's name for reading; of UTF-8 the mark at the start is left out."""
        return "utf-8-sig" if self.name == "utf-8" else self.name

    @property
    def errors(self) -> str:
        """Return what becomes of bytes that are not of it: in UTF-8 they stay as they are, else they are a mistake."""
        return "surrogateescape" if self.name == "utf-8" else "strict"


UTF_8: Final = Encoding("utf-8")


def encoding_of(file: BufferedIOBase) -> Encoding:
    """Read a file to its end, and return how it is encoded; it stands at its start then.

    (1) A mark at the start, or NULs where UTF-16 has them, say it. (2) What is UTF-8 is UTF-8. (3) If no letter is, and
    most bytes are letters of Windows-1252, it is that. (4) Else it is UTF-8, and other bytes stay as they are.
    """
    try:
        start = file.read(4)
        name = marked_codec(start)
        if name not in {None, "utf-8-sig"}:
            return Encoding(str(name))
        return _by_letters(chain([start], iter(partial(file.read, _PIECE_BYTES), b"")))
    finally:
        file.seek(0)


def _by_letters(pieces: Iterator[bytes]) -> Encoding:
    decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
    has_letters, raw = False, Counter[int]()
    for piece in chain(pieces, [b""]):
        if piece and piece.isascii() and not decoder.getstate()[0]:
            continue
        text = decoder.decode(piece, final=not piece)
        has_letters = has_letters or _OTHER_LETTER.search(text) is not None
        if _RAW_BYTE.search(text):
            raw.update("".join(_RAW_BYTE.findall(text)).encode("utf-8", "surrogateescape"))
    if not raw:
        return UTF_8
    letters = sum(count for byte, count in raw.items() if byte in _LETTER_BYTES)
    is_windows = not has_letters and not _UNDEFINED_BYTES & raw.keys() and 2 * letters >= raw.total()
    return Encoding("cp1252", is_guess=True) if is_windows else Encoding("utf-8", has_raw_bytes=True)
