"""Save the new key of a rotation to disk, before anything else happens with it."""

import os
import secrets
from pathlib import Path

from partner_conformance.replies import NoAnswer, NotTried


class NewKeyFile:
    """Writes the new secret to `file`, and further ones to `file.2`, `file.3` …; overwrites nothing."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._saved: list[str] = []
        self._has_begun = False
        self.idempotency_key = secrets.token_hex(8)

    def begin(self) -> None:
        """Write the Idempotency-Key before its use, so that the user can repeat a call whose answer is lost.

        Raises:
            NotTried: the file exists already, or cannot be created; then nothing is rotated.
        """
        if self._has_begun:
            return
        try:
            self._create_files()
        except OSError as error:
            raise NotTried(f"{self._file} cannot be created ({error.strerror})") from error
        self._has_begun = True

    def save(self, secret: str) -> None:
        """Write a received secret, once.

        Raises:
            NoAnswer: it cannot be written; the Idempotency-Key remains on disk to repeat the call.
        """
        if secret in self._saved:
            return
        self._saved.append(secret)
        count = len(self._saved)
        file = self._file if count == 1 else self._file.with_name(f"{self._file.name}.{count}")
        try:
            _write(file, f"{secret}\n", is_new=count > 1)
            self._idempotency_file.unlink(missing_ok=True)
        except OSError as error:
            said = f"{file} cannot be written ({error.strerror})"
            raise NoAnswer(f"{said}: repeat the call with the Idempotency-Key in {self._idempotency_file}") from error

    def put_first(self, secret: str) -> None:
        """Put a saved secret into the file itself: the one there has been rotated in turn, and is kept beside it."""
        if secret in self._saved[1:]:
            newest = self._file.with_name(f"{self._file.name}.{self._saved.index(secret) + 1}")
            self._file.replace(self._file.with_name(f"{self._file.name}.rotated"))
            newest.replace(self._file)

    def _create_files(self) -> None:
        _write(self._file, "")
        _write(self._idempotency_file, f"{self.idempotency_key}\n")

    @property
    def _idempotency_file(self) -> Path:
        return self._file.with_name(f"{self._file.name}.idempotency-key")


def _write(file: Path, text: str, *, is_new: bool = True) -> None:
    descriptor = os.open(file, os.O_WRONLY | (os.O_CREAT | os.O_EXCL if is_new else 0), 0o600)
    with os.fdopen(descriptor, "w") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())
