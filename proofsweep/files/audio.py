"""Read an audio file or sidecar while it is sent, see whether it changed, and what its bytes say."""

import hashlib
from collections import deque
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Literal, Self
from zlib import crc32

from proofsweep.domain.errors import SourceError
from proofsweep.domain.reasons import Ineligible, Reason
from proofsweep.files.files import Files
from proofsweep.files.formats import (
    HEAD_BYTES,
    AudioFormat,
    Credential,
    credential_in,
    fetched_by,
    format_of,
    is_video,
    tag_bytes,
)
from proofsweep.files.open_file import OpenFile

# Measured: reads of 256 KiB to 1 MiB are the fastest to hash and send.
PIECE_BYTES = 256 * 1024
HEAD_DIGEST_BYTES = 64 * 1024
_CHUNK_HEAD_BYTES = 8
_BYTE_ORDERS: Mapping[bytes, Literal["little", "big"]] = {b"RIFF": "little", b"RIFX": "big", b"FORM": "big"}
# In these the size stands in their first chunk, `ds64`, behind its head (EBU Tech 3306).
_LONG_WAVES = frozenset({b"RF64", b"BW64"})
_LONG_SIZE = slice(20, 28)
# A writer that cannot go back to its header leaves 0 as the size, or the most that it can: 7fffffc0, 80000024.
_LEAST_UNKNOWN = 0x7FF00000

_LOCAL = Files()


class AudioFile:
    """Audio that is open from its first read to the last byte sent; leaving its `with` block closes it."""

    def __init__(self, file: OpenFile) -> None:
        self._file = file
        self.sha256: str | None = None  # hex digest of the bytes of the last whole pass over `chunks`; None before one
        # the algorithm and the hex digest that the file must have; None if none is declared, or once it was compared.
        self.declared: tuple[str, str] | None = None
        self.facts = file.facts()  # size and version when it was opened
        front, tagged = _front(file)
        self.audio_format = format_of(front, tagged=tagged)  # judged by the content
        self.stand_in = _pointer(front)  # why it is not sent, if another file is meant

    def chunks(self) -> Iterator[bytes]:
        """Yield the whole file in pieces, from its start and at most `facts.size_bytes` in all.

        Raises SourceError, before the last piece is given: `source_changed` if the file changed since it was opened,
        `damaged_in_delivery` if it has not the declared digest; or `unreadable_file` if a read fails.
        """
        self.sha256 = None
        sha256 = compared = hashlib.sha256()
        # The file is read once: another algorithm that is declared takes the same pieces.
        if self.declared is not None and self.declared[0] != sha256.name:
            compared = hashlib.new(self.declared[0], usedforsecurity=False)
        position, size = 0, self.facts.size_bytes
        while position < size:
            piece = self._file.read_at(position, min(PIECE_BYTES, size - position))
            position += len(piece)
            if not piece or (position == size and self._file.facts() != self.facts):
                raise SourceError("The file changed while it was being sent.", reason=Reason.SOURCE_CHANGED)
            sha256.update(piece)
            if compared is not sha256:
                compared.update(piece)
            if position == size:
                self._require_declared(compared.hexdigest())
            yield piece
        self.sha256 = sha256.hexdigest()

    def _require_declared(self, digest_read: str) -> None:
        if self.declared is None:
            return
        algorithm, digest = self.declared
        if digest_read != digest:
            words = f"The delivery declares the {algorithm.upper()} {digest}, and the file has {digest_read}."
            raise SourceError(words, reason=Reason.DAMAGED_IN_DELIVERY)
        self.declared = None  # one pass is enough

    def head_digest(self) -> int:
        """Return a checksum of the file's first 64 KiB. Equal files have equal ones."""
        return crc32(self._file.read_at(0, HEAD_DIGEST_BYTES))

    def has_credential(self) -> bool:
        """Whether this is a WAV with a credential inside, for sure."""
        return self._credential() is Credential.FOUND

    def is_bare(self) -> bool:
        """Whether this is a whole WAV that has no credential inside for sure; False where there is any doubt."""
        return self._credential() is Credential.NONE

    def _credential(self) -> Credential:
        return credential_in(partial(_read_up_to, self._file), self.facts.size_bytes)

    def is_video(self) -> bool:
        """Whether this is a film, of which nobody expects a credential for audio."""
        return is_video(partial(_read_up_to, self._file), self.facts.size_bytes)

    def is_cut_short(self) -> bool:
        """Return whether a RIFF or IFF header promises more bytes than there are: the rest may still be on its way."""
        head = _read_up_to(self._file, _LONG_SIZE.stop)
        order = _BYTE_ORDERS.get(head[:4])
        if head[:4] in _LONG_WAVES:
            said_bytes = int.from_bytes(head[_LONG_SIZE], "little")
        elif order is not None and len(head) >= _CHUNK_HEAD_BYTES:
            said_bytes = int.from_bytes(head[4:_CHUNK_HEAD_BYTES], order)
        else:
            return False
        return 0 < said_bytes < _LEAST_UNKNOWN and _CHUNK_HEAD_BYTES + said_bytes > self.facts.size_bytes

    def read_through(self) -> str | None:
        """Read the whole file without sending it; give its hex sha256. Raises SourceError: as `chunks`."""
        deque(self.chunks(), maxlen=0)
        return self.sha256

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


def open_audio(location: str, source: Files = _LOCAL, *, is_sent: bool = False) -> AudioFile:
    """Open audio; SourceError: `missing_audio`, or `unreadable_file` if it is no regular file or cannot be read."""
    file = source.open(location, is_whole=is_sent)
    if file is None:
        raise SourceError("There is no audio at this location.", reason=Reason.MISSING_AUDIO)
    try:
        return AudioFile(file)
    except SourceError:
        file.close()
        raise


def read_sidecar(location: str, most_bytes: int, source: Files = _LOCAL) -> bytes:
    """Read a whole sidecar.

    SourceError: `missing_sidecar` (empty, too), `stand_in`, `sidecar_too_large` or `unreadable_file`.
    """
    file = source.open(location, is_whole=True)
    if file is None:
        raise SourceError("There is no sidecar at this location.", reason=Reason.MISSING_SIDECAR)
    with file:
        content = _read_up_to(file, most_bytes + 1)
    if not content:
        raise SourceError("The sidecar file holds no bytes.", reason=Reason.MISSING_SIDECAR)
    stand_in = _pointer(content, "sidecar")
    if stand_in is not None:
        raise SourceError(stand_in.detail, reason=stand_in.reason)
    if len(content) > most_bytes:
        raise SourceError(f"The sidecar has more than {most_bytes:,} bytes.", reason=Reason.SIDECAR_TOO_LARGE)
    return content


def _pointer(head: bytes, role: str = "audio") -> Ineligible | None:
    """Return why a pointer of Git is not sent, by the first bytes of a file; None for any other file."""
    command = fetched_by(head)
    if command is None:
        return None
    return Ineligible(Reason.STAND_IN, f"The {role} is a pointer, which stands for the file: fetch it by {command}.")


def is_audio(file: OpenFile) -> bool:
    """Judge by the first bytes, or by those after a tag at the start, whether the content is audio of any format."""
    front, tagged = _front(file)
    audio_format = format_of(front, tagged=tagged)
    if audio_format is AudioFormat.M4A:
        return not is_video(partial(_read_up_to, file), file.facts().size_bytes)
    return audio_format is not AudioFormat.UNKNOWN


def _front(file: OpenFile) -> tuple[bytes, bool]:
    head = _read_up_to(file, HEAD_BYTES)
    tag = tag_bytes(head)
    if not tag:
        return head, False
    # A tag may hold pictures, and be much longer than the head: the audio begins behind it.
    front = _read_up_to(file, HEAD_BYTES, tag)
    return front.lstrip(b"\0"), True


def _read_up_to(file: OpenFile, most_bytes: int, offset: int = 0) -> bytes:
    content = b""
    while len(content) < most_bytes:
        left_bytes = most_bytes - len(content)
        piece = file.read_at(offset + len(content), left_bytes)
        if not piece:
            break
        content += piece
    return content
