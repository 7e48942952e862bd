"""Deposits: bytes on their way to the disk, counted and hashed as they pass."""

import hashlib
import secrets
from pathlib import Path


class TooLarge(Exception):
    """More bytes came than the deposit may hold."""


class AtomicFile:
    """A file that appears under its name only when it is kept, whole; otherwise nothing is left of it."""

    def __init__(self, file: Path, limit_bytes: int | None = None) -> None:
        self._file = file
        self._partial = file.with_name(f".{file.name}.{secrets.token_hex(4)}")
        self._limit_bytes = limit_bytes
        self._digest = hashlib.sha256()
        self._stream = self._partial.open("xb")
        self.size_bytes = 0

    @property
    def sha256(self) -> str:
        """The digest of what has passed so far, lowercase hex."""
        return self._digest.hexdigest()

    def write(self, data: bytes) -> None:
        """Take more bytes; raise TooLarge when they are too many."""
        self.size_bytes += len(data)
        if self._limit_bytes is not None and self.size_bytes > self._limit_bytes:
            raise TooLarge
        self._digest.update(data)
        self._stream.write(data)

    def keep(self) -> None:
        """Put the whole file in its place."""
        self._stream.close()
        self._partial.replace(self._file)

    def discard(self) -> None:
        """Leave nothing of a deposit that was not kept."""
        self._stream.close()
        self._partial.unlink(missing_ok=True)
