"""A file whose content is in memory."""

from proofsweep.domain.items import FileFacts
from proofsweep.files.open_file import OpenFile


class HeldFile(OpenFile):
    """Gives its bytes as an open file does, so many at once, and counts them; it has another size if that is said."""

    def __init__(self, content: bytes, size_bytes: int | None = None, most_bytes: int = 1 << 30) -> None:
        self._content = content
        self._size_bytes = len(content) if size_bytes is None else size_bytes
        self._most_bytes = most_bytes
        self.given_bytes = 0

    def facts(self) -> FileFacts:
        return FileFacts(self._size_bytes, "1")

    def read_at(self, offset: int, most_bytes: int) -> bytes:
        piece = self._content[offset : offset + min(most_bytes, self._most_bytes)]
        self.given_bytes += len(piece)
        return piece
