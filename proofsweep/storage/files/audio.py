"""An audio file or sidecar at the moment it is sent: what it is, its bytes, and that it stayed the same meanwhile."""

import hashlib
from collections import deque
from collections.abc import Iterator
from types import TracebackType
from typing import Self
from zlib import crc32

from proofsweep.domain.content_guess import ContentGuess, guess_content
from proofsweep.domain.formats import HEAD_BYTES, AudioFormat, format_of, tag_bytes
from proofsweep.domain.items import FileFacts
from proofsweep.domain.reasons import Reason
from proofsweep.errors import SourceError
from proofsweep.storage.files.local_files import LocalFiles
from proofsweep.storage.files.source import OpenFile, Source

PIECE_BYTES = 256 * 1024
"""Large enough that calls cost nothing beside sha256, small enough for many workers at once."""

HEAD_DIGEST_BYTES = 64 * 1024

_LOCAL = LocalFiles()


class AudioFile:
    """Audio held open from the first look to the last byte sent; close it by leaving its `with` block.

    Attributes:
        audio_format: told by the content.
        content_guess: what the content seems to be where that is unknown.
        facts: size and version when it was opened.
        sha256: hex digest of the bytes of the last whole pass over `chunks`; None before one.
    """

    def __init__(self, file: OpenFile) -> None:
        self._file = file
        self.sha256: str | None = None
        self.facts: FileFacts = file.facts()
        front, tagged = _front(file)
        self.audio_format: AudioFormat = format_of(front, tagged=tagged)
        self.content_guess: ContentGuess = guess_content(front)

    def chunks(self) -> Iterator[bytes]:
        """Give the whole file in pieces, from the start each time and never more than `facts.size_bytes` in all.

        Raises:
            SourceError: `source_changed`, before the last piece is given, when the file is no longer the one that was
                opened; `unreadable_file` when a read fails.
        """
        self.sha256, digest = None, hashlib.sha256()
        position, size = 0, self.facts.size_bytes
        while position < size:
            piece = self._file.read_at(position, min(PIECE_BYTES, size - position))
            position += len(piece)
            if not piece or (position == size and self._file.facts() != self.facts):
                raise SourceError("The file changed while it was being sent.", reason=Reason.SOURCE_CHANGED)
            digest.update(piece)
            yield piece
        self.sha256 = digest.hexdigest()

    def head_digest(self) -> int:
        """Give a checksum of the file's first bytes, which files that are the same have in common."""
        return crc32(self._file.read_at(0, HEAD_DIGEST_BYTES))

    def read_through(self) -> str | None:
        """Read the whole file without sending it; give its hex sha256.

        Raises:
            SourceError: as `chunks`.
        """
        deque(self.chunks(), maxlen=0)
        return self.sha256

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()


def open_audio(location: str, source: Source = _LOCAL) -> AudioFile:
    """Open audio for sending.

    Raises:
        SourceError: `missing_audio` when nothing is there, `unreadable_file` when it is no regular file or cannot be
            read.
    """
    file = source.open(location)
    if file is None:
        raise SourceError("There is no audio at this location.", reason=Reason.MISSING_AUDIO)
    try:
        return AudioFile(file)
    except SourceError:
        file.close()
        raise


def read_sidecar(location: str, most_bytes: int, source: Source = _LOCAL) -> bytes:
    """Give a sidecar's bytes, which are few.

    Raises:
        SourceError: `missing_sidecar` when nothing is there or in it, `sidecar_too_large` above `most_bytes`,
            `unreadable_file` when it is no regular file or cannot be read.
    """
    file = source.open(location)
    if file is None:
        raise SourceError("There is no sidecar at this location.", reason=Reason.MISSING_SIDECAR)
    with file:
        content = _read_up_to(file, most_bytes + 1)
    if not content:
        raise SourceError("The sidecar file holds no bytes.", reason=Reason.MISSING_SIDECAR)
    if len(content) > most_bytes:
        raise SourceError(f"The sidecar has more than {most_bytes:,} bytes.", reason=Reason.SIDECAR_TOO_LARGE)
    return content


def sniff(file: OpenFile) -> AudioFormat:
    """Tell the format by the file's first bytes, or by those behind the tag that it begins with."""
    front, tagged = _front(file)
    return format_of(front, tagged=tagged)


def _front(file: OpenFile) -> tuple[bytes, bool]:
    """Give the bytes with which the audio begins, and whether a tag stands before them."""
    head = _read_up_to(file, HEAD_BYTES)
    tag = tag_bytes(head)
    return (_read_up_to(file, HEAD_BYTES, tag).lstrip(b"\0"), True) if tag else (head, False)


def _read_up_to(file: OpenFile, most_bytes: int, offset: int = 0) -> bytes:
    content = b""
    while len(content) < most_bytes and (piece := file.read_at(offset + len(content), most_bytes - len(content))):
        content += piece
    return content
