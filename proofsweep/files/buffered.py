"""Give a file of any source the interface that readers of file formats expect."""

import io
import os

from proofsweep.files.source import OpenFile

# chosen: the piece that one read asks for, as large as a bucket's piece; half doubles the reads.
_BUFFER_BYTES = 1024 * 1024


class _Bytes(io.RawIOBase):
    def __init__(self, file: OpenFile) -> None:
        super().__init__()
        self._file = file
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # narrower than any writable buffer
        piece = self._file.read_at(self._position, len(buffer))
        buffer[: len(piece)] = piece
        self._position += len(piece)
        return len(piece)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._position}.get(whence, self._file.facts().size_bytes)
        self._position = start + offset
        return self._position

    def tell(self) -> int:
        return self._position

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


def buffered(file: OpenFile) -> io.BufferedReader:
    """Give an open file as a seekable stream, which closes it; errors of the file are raised unchanged."""
    return io.BufferedReader(_Bytes(file), _BUFFER_BYTES)
