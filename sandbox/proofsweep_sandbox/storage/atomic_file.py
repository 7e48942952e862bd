"""Write an upload to disk as a whole file or not at all, and hash it on the way."""

import hashlib
import secrets
from pathlib import Path


class TooLarge(Exception):
    """The file has more bytes than allowed."""


class AtomicFile:
    """A file that appears under its name only when it is complete; otherwise nothing remains."""

    def __init__(self, file: Path, limit_bytes: int | None = None) -> None:
        self._file = file
        self._partial = file.with_name(f".{file.name}.{secrets.token_hex(4)}")
        self._limit_bytes = limit_bytes
        self._digest = hashlib.sha256()
        self._stream = self._partial.open("xb")
        self.size_bytes = 0

    @property
    def sha256(self) -> str:
        """The digest of the bytes so far, lowercase hex."""
        return self._digest.hexdigest()

    def write(self, data: bytes) -> None:
        """Write more bytes; raise TooLarge beyond the limit."""
        self.size_bytes += len(data)
        if self._limit_bytes is not None and self.size_bytes > self._limit_bytes:
            raise TooLarge
        self._digest.update(data)
        self._stream.write(data)

    def commit(self) -> None:
        """Move the complete file to its name."""
        self._stream.close()
        self._partial.replace(self._file)

    def discard(self) -> None:
        """Remove the file if it was not committed."""
        self._stream.close()
        self._partial.unlink(missing_ok=True)
