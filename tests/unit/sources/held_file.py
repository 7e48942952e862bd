"""A file whose content is in memory."""

from proofsweep.domain.items import FileFacts
from proofsweep.sources.source import OpenFile


class HeldFile(OpenFile):
    """Gives its bytes as an open file does, and another size if that is said."""

    def __init__(self, content: bytes, size_bytes: int | None = None) -> None:
        self._content = content
        self._size_bytes = len(content) if size_bytes is None else size_bytes

    def facts(self) -> FileFacts:
        """Return the size."""
        return FileFacts(self._size_bytes, "1")

    def read_at(self, offset: int, most_bytes: int) -> bytes:
        """Return bytes of the content."""
        return self._content[offset : offset + most_bytes]

    def close(self) -> None:
        """Do nothing."""
