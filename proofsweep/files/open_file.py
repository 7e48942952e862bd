"""An open file of any kind, read at offsets or as a stream."""

import io
import os
from abc import abstractmethod
from collections.abc import Iterator

from proofsweep.domain.items import FileFacts

_BUFFER_BYTES = 1024 * 1024  # as large as a bucket's piece


class OpenFile(io.RawIOBase):
    """An open file, read at offsets, or from its start as a stream; errors of the file are SourceError."""

    _position = 0  # of the stream

    @abstractmethod
    def facts(self) -> FileFacts:
        """Return the facts of what is read; those of a local file now, since it may change while it is open."""

    @abstractmethod
    def read_at(self, offset: int, most_bytes: int) -> bytes:
        """Return at least one byte and at most `most_bytes`, none at the end; SourceError if it cannot be read."""

    def pieces(self, piece_bytes: int) -> Iterator[bytes]:
        """Yield the file from its start, at most as many bytes as it has now."""
        position, size_bytes = 0, self.facts().size_bytes
        while position < size_bytes:
            left_bytes = size_bytes - position
            piece = self.read_at(position, min(piece_bytes, left_bytes))
            if not piece:
                return
            position += len(piece)
            yield piece

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]  # narrower than any writable buffer
        piece = self.read_at(self._position, len(buffer))
        buffer[: len(piece)] = piece
        self._position += len(piece)
        return len(piece)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        start = 0
        if whence == os.SEEK_CUR:
            start = self._position
        elif whence != os.SEEK_SET:
            start = self.facts().size_bytes
        self._position = start + offset
        return self._position


def buffered(file: OpenFile) -> io.BufferedReader:
    """Return an open file as a stream, which closes it."""
    return io.BufferedReader(file, _BUFFER_BYTES)
