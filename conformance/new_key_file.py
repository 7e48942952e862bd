"""The new key of a rotation is the user's: it is on disk before anything else is done with it."""

import os
import secrets
from pathlib import Path

from conformance.replies import NoAnswer, NotTried


class NewKeyFile:
    """Writes secrets to `file`, and any further ones to `file.2`, `file.3` …; nothing is overwritten."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._kept: list[str] = []
        self._has_begun = False
        self.idempotency_key = secrets.token_hex(8)

    def begin(self) -> None:
        """Put the Idempotency-Key down before it is used: whoever loses the answer can ask for it again.

        Raises:
            NotTried: there is such a file already, or it cannot be made; then nothing is rotated.
        """
        if self._has_begun:
            return
        try:
            self._make_files()
        except OSError as error:
            raise NotTried(f"{self._file} cannot be made ({error.strerror})") from error
        self._has_begun = True

    def keep(self, secret: str) -> None:
        """Write a secret that was received, once.

        Raises:
            NoAnswer: it cannot be written; the Idempotency-Key stays, with which the service tells it again.
        """
        if secret in self._kept:
            return
        self._kept.append(secret)
        count = len(self._kept)
        file = self._file if count == 1 else self._file.with_name(f"{self._file.name}.{count}")
        try:
            _write(file, f"{secret}\n", is_new=count > 1)
            self._beside.unlink(missing_ok=True)
        except OSError as error:
            told = f"{file} cannot be written ({error.strerror}): ask again with the key in {self._beside}"
            raise NoAnswer(told) from error

    def _make_files(self) -> None:
        _write(self._file, "")
        _write(self._beside, f"{self.idempotency_key}\n")

    @property
    def _beside(self) -> Path:
        return self._file.with_name(f"{self._file.name}.idempotency-key")


def _write(file: Path, text: str, *, is_new: bool = True) -> None:
    descriptor = os.open(file, os.O_WRONLY | (os.O_CREAT | os.O_EXCL if is_new else 0), 0o600)
    with os.fdopen(descriptor, "w") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())
