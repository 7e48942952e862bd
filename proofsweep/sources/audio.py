"""Read an audio file or sidecar while it is sent, see whether it changed, and look for the credential of a WAV."""

import hashlib
import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import Literal, Self
from zlib import crc32

from proofsweep.domain.errors import SourceError
from proofsweep.domain.items import FileFacts
from proofsweep.domain.reasons import Reason
from proofsweep.sources.formats import HEAD_BYTES, AudioFormat, format_of, tag_bytes, unlisted_audio
from proofsweep.sources.local import LocalFiles
from proofsweep.sources.source import OpenFile, Source

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
_PLAIN = _NEVER_SEARCHED | {
    *("fact", "LIST", "cue ", "smpl", "inst", "plst", "PEAK", "bext", "iXML", "chna", "axml", "cart", "levl", "id3 "),
    *("ID3 ", "JUNK", "junk", "PAD ", "FLLR"),
}
# What such a chunk holds, in lower case and without zero bytes, if it speaks of a manifest, or has XMP or an ID3 frame
# for any content (GEOB, PRIV; ID3v2.2 has shorter names).
_HINTS = (b"c2pa", b"jumb", b"provenance", b"xmpmeta", b"rdf:rdf", b"geob", b"priv", b"id3\2")


Read = Callable[[int, int], bytes]
"""Gives so many bytes of a file at an offset, fewer only at its end."""


class Credential(Enum):
    """What the chunks of a file say of a credential inside."""

    FOUND = "found"
    NONE = "none"  # a whole RIFF WAV whose chunks are all known, and hold nothing that could be one
    UNKNOWN = "unknown"  # it may have one


@dataclass(frozen=True, slots=True)
class _Chunk:
    name: str
    start: int
    size_bytes: int

    @property
    def end(self) -> int:
        """Return where the next chunk begins: a chunk of odd size is padded."""
        return self.start + self.size_bytes + self.size_bytes % 2


def credential_in(read: Read, size_bytes: int) -> Credential:
    """Look into the chunks of a file of so many bytes."""
    chunks = []
    for chunk in _chunks_of(read, size_bytes):
        if chunk.name == _CREDENTIAL_CHUNK:
            return Credential.FOUND
        content = b""
        if chunk.name not in _NEVER_SEARCHED:
            content = read(min(chunk.size_bytes, _SEARCHED_BYTES), chunk.start)
            if _MANIFEST.search(content):
                return Credential.FOUND
        chunks.append((chunk, _is_plain(chunk, content)))
    is_bare = all(is_plain for _, is_plain in chunks) and _is_whole(read, size_bytes, [chunk for chunk, _ in chunks])
    return Credential.NONE if is_bare else Credential.UNKNOWN


def _is_plain(chunk: _Chunk, content: bytes) -> bool:
    if chunk.name in _NEVER_SEARCHED:
        return True
    text = content.replace(b"\0", b"").lower()  # UTF-16 reads as UTF-8 then
    return chunk.name in _PLAIN and len(content) == chunk.size_bytes and not any(hint in text for hint in _HINTS)


def _is_whole(read: Read, size_bytes: int, chunks: list[_Chunk]) -> bool:
    """Whether the chunks fill the file, as its header says, and one of them is the audio.

    The last chunk's padding may be absent, and the header may leave it out.
    """
    if [chunk.name for chunk in chunks].count("data") != 1:
        return False
    head, last = read(_RIFF_HEADER_BYTES, 0), chunks[-1]
    ends = {last.start + last.size_bytes, last.end}
    said = _CHUNK_HEADER_BYTES + int.from_bytes(head[4:8], "little")
    return head[:4] == b"RIFF" and size_bytes in ends and said in ends and said <= size_bytes


def _chunks_of(read: Read, size_bytes: int) -> Iterator[_Chunk]:
    offset, data_bytes = _RIFF_HEADER_BYTES, 0
    front = read(offset, 0)
    for _ in range(_MOST_CHUNKS if front[:4] in _WAVES and front[8:] == b"WAVE" else 0):
        head = read(_CHUNK_HEADER_BYTES, offset) if offset < size_bytes else b""
        if len(head) < _CHUNK_HEADER_BYTES:
            return
        name, said_bytes = head[:4].decode("latin-1"), int.from_bytes(head[4:], "little")
        if name == "ds64":
            data_bytes = int.from_bytes(read(8, offset + _CHUNK_HEADER_BYTES + 8), "little")
        elif name == "data" and said_bytes == _SIZE_ELSEWHERE and data_bytes:
            said_bytes = data_bytes
        yield (chunk := _Chunk(name, offset + _CHUNK_HEADER_BYTES, said_bytes))
        offset = chunk.end


# Measured: reads of 256 KiB to 1 MiB are the fastest to hash and send.
PIECE_BYTES = 256 * 1024
HEAD_DIGEST_BYTES = 64 * 1024
_CHUNK_HEAD_BYTES = 8
_BYTE_ORDERS: Mapping[bytes, Literal["little", "big"]] = {b"RIFF": "little", b"RIFX": "big", b"FORM": "big"}
# A writer that cannot go back to its header leaves one of these as the size.
_UNKNOWN_SIZES = frozenset({0, 0x7FFFFFFF, 0xFFFFFFFF})

_LOCAL = LocalFiles()


class AudioFile:
    """Audio that is open from its first read to the last byte sent; leaving its `with` block closes it."""

    def __init__(self, file: OpenFile) -> None:
        self._file = file
        self.sha256: str | None = None  # hex digest of the bytes of the last whole pass over `chunks`; None before one
        # the algorithm and the hex digest that the file must have; None if none is declared, or once it was compared.
        self.declared: tuple[str, str] | None = None
        self.facts: FileFacts = file.facts()  # size and version when it was opened
        front, tagged = _front(file)
        self.audio_format: AudioFormat = format_of(front, tagged=tagged)  # judged by the content
        # the name of audio that the contract does not list; None for other content.
        self.unlisted = unlisted_audio(front) if self.audio_format is AudioFormat.UNKNOWN else None

    def chunks(self) -> Iterator[bytes]:
        """Yield the whole file in pieces, from its start and at most `facts.size_bytes` in all.

        Raises SourceError, before the last piece is given: `source_changed` if the file changed since it was opened,
        `damaged_in_delivery` if it has not the declared digest; or `unreadable_file` if a read fails.
        """
        self.sha256, sha256 = None, hashlib.sha256()
        algorithm = sha256.name if self.declared is None else self.declared[0]
        compared = sha256 if algorithm == sha256.name else hashlib.new(algorithm, usedforsecurity=False)
        for piece, is_last in self._pieces():
            sha256.update(piece)
            if compared is not sha256:
                compared.update(piece)
            if is_last:
                self._require_declared(compared.hexdigest())
            yield piece
        self.sha256 = sha256.hexdigest()

    def read_as_declared(self) -> None:
        """Read the whole file for the declared digest alone, if one is still to be compared.

        Raises SourceError: as `chunks`.
        """
        if self.declared is None:
            return
        compared = hashlib.new(self.declared[0], usedforsecurity=False)
        for piece, _ in self._pieces():
            compared.update(piece)
        self._require_declared(compared.hexdigest())

    def _pieces(self) -> Iterator[tuple[bytes, bool]]:
        """Yield each piece, and whether it is the last one: then the file is the one that was opened."""
        position, size = 0, self.facts.size_bytes
        while position < size:
            piece = self._file.read_at(position, min(PIECE_BYTES, size - position))
            position += len(piece)
            if not piece or (position == size and self._file.facts() != self.facts):
                raise SourceError("The file changed while it was being sent.", reason=Reason.SOURCE_CHANGED)
            yield piece, position == size

    def _require_declared(self, found: str) -> None:
        if self.declared is None:
            return
        algorithm, digest = self.declared
        if found != digest:
            raise SourceError(
                f"The delivery declares the {algorithm.upper()} {digest}, and the file has {found}.",
                reason=Reason.DAMAGED_IN_DELIVERY,
            )
        self.declared = None  # one pass is enough

    def head_digest(self) -> int:
        """Return a checksum of the file's first 64 KiB: equal files have the same."""
        return crc32(self._file.read_at(0, HEAD_DIGEST_BYTES))

    def has_credential(self) -> bool:
        """Whether this is a WAV with a credential inside: a chunk `C2PA`, or one that holds a C2PA manifest."""
        return self._credential() is Credential.FOUND

    def is_bare(self) -> bool:
        """Whether this is a whole WAV that has no credential inside for sure; False where there is any doubt."""
        return self._credential() is Credential.NONE

    def _credential(self) -> Credential:
        return credential_in(partial(_read_up_to, self._file), self.facts.size_bytes)

    def is_cut_short(self) -> bool:
        """Return whether a RIFF or IFF header promises more bytes than there are: the rest may still be on its way."""
        head = _read_up_to(self._file, _CHUNK_HEAD_BYTES)
        order = _BYTE_ORDERS.get(head[:4])
        if order is None or len(head) < _CHUNK_HEAD_BYTES:
            return False
        size_bytes = int.from_bytes(head[4:], order)
        is_known = size_bytes not in _UNKNOWN_SIZES
        return is_known and _CHUNK_HEAD_BYTES + size_bytes > self.facts.size_bytes

    def read_through(self) -> str | None:
        """Read the whole file without sending it; give its hex sha256. Raises SourceError: as `chunks`."""
        deque(self.chunks(), maxlen=0)
        return self.sha256

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


def open_audio(location: str, source: Source = _LOCAL, *, is_sent: bool = False) -> AudioFile:
    """Open audio; SourceError: `missing_audio`, or `unreadable_file` if it is no regular file or cannot be read."""
    file = source.open(location, is_whole=is_sent)
    if file is None:
        raise SourceError("There is no audio at this location.", reason=Reason.MISSING_AUDIO)
    try:
        return AudioFile(file)
    except SourceError:
        file.close()
        raise


def read_sidecar(location: str, most_bytes: int, source: Source = _LOCAL) -> bytes:
    """Read a whole sidecar; SourceError: `missing_sidecar` (empty, too), `sidecar_too_large` or `unreadable_file`."""
    file = source.open(location, is_whole=True)
    if file is None:
        raise SourceError("There is no sidecar at this location.", reason=Reason.MISSING_SIDECAR)
    with file:
        content = _read_up_to(file, most_bytes + 1)
    if not content:
        raise SourceError("The sidecar file holds no bytes.", reason=Reason.MISSING_SIDECAR)
    if len(content) > most_bytes:
        raise SourceError(f"The sidecar has more than {most_bytes:,} bytes.", reason=Reason.SIDECAR_TOO_LARGE)
    return content


def is_audio(file: OpenFile) -> bool:
    """Judge by the first bytes, or by those after a tag at the start, whether the content is audio of any format."""
    front, tagged = _front(file)
    return format_of(front, tagged=tagged) is not AudioFormat.UNKNOWN or unlisted_audio(front) is not None


def _front(file: OpenFile) -> tuple[bytes, bool]:
    head = _read_up_to(file, HEAD_BYTES)
    tag = tag_bytes(head)
    return (_read_up_to(file, HEAD_BYTES, tag).lstrip(b"\0"), True) if tag else (head, False)


def _read_up_to(file: OpenFile, most_bytes: int, offset: int = 0) -> bytes:
    content = b""
    while len(content) < most_bytes and (piece := file.read_at(offset + len(content), most_bytes - len(content))):
        content += piece
    return content
