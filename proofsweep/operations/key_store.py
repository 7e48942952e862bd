"""Where a new key is kept: in a file beside its place until it is tested, then in its place. It is never shown."""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import SecretStr

from proofsweep.client.keys import key_file
from proofsweep.config.locations import sync_file, sync_folder
from proofsweep.config.secret_places import shown_file
from proofsweep.config.sections import ServiceSettings
from proofsweep.domain.errors import ConfigError

_PROBE_BYTES = 4096  # bytes that a test of the folder writes: a disk must have room for a key
_ACL = "system.posix_acl_access"
_ELSEWHERE = "Give --new-key-file with a path for the new key; nothing was rotated."


@dataclass(frozen=True, slots=True)
class KeyStore:
    """A key file; the new key waits in `<name>.new` beside it, with the owner, group and mode of the old one.

    A file that is made where none was is for its owner only. Each method raises ConfigError, with the path in its
    message, if it cannot be read or written.
    """

    path: Path  # the file itself, not a link to it

    @classmethod
    def of(cls, settings: ServiceSettings, new_key_file: Path | None = None) -> "KeyStore":
        """Return where a new key goes: a named file, else the key file; ConfigError if the key is in none."""
        path = new_key_file or settings.api_key_file
        if path is None:
            raise ConfigError(
                "The settings keep the key in no file, so it cannot be replaced from here: give --new-key-file with a "
                "path for the new key. Nothing was rotated."
            )
        if new_key_file is None:
            shown = shown_file(path, "service.api_key_file")
            if shown != str(path):
                raise ConfigError(f"There is no key file {shown}. {_ELSEWHERE}")
        try:
            return cls(path.expanduser().resolve())
        except (OSError, RuntimeError) as error:  # the latter: a circle of links, or no home folder
            raise ConfigError(f"The key's place {path} leads nowhere: {error}.") from error

    @property
    def waiting_path(self) -> Path:
        return self.path.with_name(f"{self.path.name}.new")

    def check(self) -> None:
        """Write and delete a file in the folder, with the rights of the key file; refuse a key file that is mounted."""
        folder = self.path.parent
        is_mounted = False
        # What fails here fails before the key is rotated: afterwards the new one would have no place.
        try:
            with _told(self.path):
                if self.path.exists():
                    is_mounted = self.path.stat().st_dev != folder.stat().st_dev
                draft = self._write(b"\0" * _PROBE_BYTES)
                draft.unlink()
                sync_folder(folder)
        except ConfigError as error:
            raise ConfigError(f"{error.message} {_ELSEWHERE}") from error
        if is_mounted:
            raise ConfigError(f"The key file {self.path} is mounted, so it cannot be replaced. {_ELSEWHERE}")

    def current(self) -> SecretStr | None:
        return _key_in(self.path)

    def waiting(self) -> SecretStr | None:
        return _key_in(self.waiting_path)

    def keep(self, key: SecretStr) -> None:
        """Write the new key; it appears beside its place when it is whole."""
        content = key.get_secret_value().encode() + b"\n"
        with _told(self.waiting_path):
            draft = self._write(content)
            draft.replace(self.waiting_path)
            sync_folder(self.path.parent)

    def promote(self) -> None:
        # In one step: there is a whole key in the place at any time.
        with _told(self.path):
            self.waiting_path.replace(self.path)
            sync_folder(self.path.parent)

    def _write(self, content: bytes) -> Path:
        draft = self.path.with_name(f".{self.path.name}-draft")
        draft.unlink(missing_ok=True)
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                # The rights come before the first byte: nobody else can read a key while it is written.
                if self.path.exists():
                    _take_rights(descriptor, self.path)
                file.write(content)
                sync_file(file)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise
        return draft


def _key_in(path: Path) -> SecretStr | None:
    if not path.exists():
        return None
    read = key_file(path)
    return read()


@contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ConfigError(f"The key's place {path} cannot be written ({error.strerror}).") from error


def _take_rights(descriptor: int, path: Path) -> None:
    """Set on a new file the owner, group and mode of a key file: the same people can read both, and no others."""
    try:
        old = path.stat()
        os.fchown(descriptor, old.st_uid, old.st_gid)
        os.fchmod(descriptor, stat.S_IMODE(old.st_mode))
        new = os.fstat(descriptor)
        is_same = (new.st_uid, new.st_gid, new.st_mode) == (old.st_uid, old.st_gid, old.st_mode)
        # Under an ACL a mode says less than it seems to, so a file that has one is not replaced.
        if not is_same or _has_acl(path) or _has_acl(descriptor):
            raise PermissionError(errno.EPERM, "the file system gives it others, or an ACL")
    except OSError as error:
        raise ConfigError(
            f"A new file cannot have the owner, group and mode of the key file {path} ({error.strerror}), so those who "
            "read the key could not read the new one."
        ) from error


def _has_acl(file: Path | int) -> bool:
    with suppress(OSError, AttributeError):  # a file system or a system without any
        return _ACL in os.listxattr(file)
    return False
