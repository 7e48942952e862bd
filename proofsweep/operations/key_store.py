"""Where a new key is kept: beside its place until it is tested, then in its place. It is never shown."""

import errno
import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import SecretStr

from proofsweep.client.keys import key_block, key_file
from proofsweep.config.local_files import sync_file, sync_folder
from proofsweep.config.sections import ServiceSettings
from proofsweep.domain.errors import ConfigError

_PROBE_BYTES = 4096  # bytes that a test of the folder writes: a disk must have room for a key
_ACL = "system.posix_acl_access"
_NO_ACL = frozenset({errno.ENODATA, errno.ENOTSUP})


@dataclass(frozen=True, slots=True)
class FileKeyStore:
    """A key file; the new key waits in `<name>.new` beside it, with the rights of the old one.

    A file that is made where none was is for its owner only. Each method raises ConfigError, with the path in its
    message, if it cannot be read or written.
    """

    path: Path  # the file itself, not a link to it
    is_new: bool = False  # whether the file must not exist yet

    @classmethod
    def of(cls, path: Path, *, is_new: bool = False) -> "FileKeyStore":
        """Return the store of a path, behind a link the file that it leads to; ConfigError if it leads nowhere."""
        try:
            return cls(path.expanduser().resolve(), is_new)
        except (OSError, RuntimeError) as error:  # the latter: a circle of links, or no home folder
            raise ConfigError(f"The key's place {path} leads nowhere: {error}.") from error

    @property
    def name(self) -> str:
        return str(self.path)

    @property
    def waiting_name(self) -> str:
        return str(self._waiting)

    def check(self) -> None:
        """Write and delete a file in the folder, with the rights of the key file; refuse a key file that is mounted."""
        try:
            self._probe()
        except ConfigError as error:
            raise ConfigError(f"{error.message} {_ELSEWHERE}") from error

    def current(self) -> SecretStr | None:
        return key_file(self.path)() if self.path.exists() else None

    def waiting(self) -> SecretStr | None:
        """Read the file beside it; an empty one is what a killed command had begun."""
        is_begun = self._waiting.exists() and self._waiting.stat().st_size
        return key_file(self._waiting)() if is_begun else None

    def leftovers(self) -> list[str]:
        return [self.waiting_name] if self._waiting.exists() else []

    def keep(self, key: SecretStr) -> None:
        with _told(self._waiting):
            self._write(self._waiting, key.get_secret_value().encode() + b"\n")

    def promote(self) -> None:
        with _told(self.path):
            if self.is_new and self.path.exists():
                raise ConfigError(f"{self.path} exists; the new key is in {self._waiting}.")
            self._waiting.replace(self.path)
            sync_folder(self.path.parent)

    def discard(self) -> None:
        with _told(self._waiting):
            self._waiting.unlink(missing_ok=True)

    def _probe(self) -> None:
        with _told(self.path):
            if self.path.exists() and self.path.stat().st_dev != self.path.parent.stat().st_dev:
                raise ConfigError(f"The key file {self.path} is mounted, so it cannot be replaced.")
            probe = self.path.with_name(f".{self.path.name}-probe")
            self._write(probe, b"\0" * _PROBE_BYTES)
            probe.unlink()

    def _write(self, place: Path, content: bytes) -> None:
        """Write a file durably; it has the rights of the key file before its first byte, or is for its owner only."""
        place.unlink(missing_ok=True)
        descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                if self.path.exists():
                    _take_rights(descriptor, self.path)
                file.write(content)
                sync_file(file)
        except BaseException:
            place.unlink(missing_ok=True)
            raise
        sync_folder(place.parent)

    @property
    def _waiting(self) -> Path:
        return self.path.with_name(f"{self.path.name}.new")


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretBlocks:
    """Reads, writes and deletes secret blocks of the orchestrator; each raises ConfigError when it cannot."""

    read: Callable[[str], str]
    write: Callable[[str, str], None]
    delete: Callable[[str], None]


@dataclass(frozen=True, slots=True)
class BlockKeyStore:
    """A secret block of the orchestrator; the new key waits in `<name>-new`."""

    block: str
    blocks: SecretBlocks

    @property
    def name(self) -> str:
        return f"the Prefect Secret block {self.block!r}"

    @property
    def waiting_name(self) -> str:
        return f"the Prefect Secret block {self._waiting!r}"

    def check(self) -> None:
        """Read the block: its server answers."""
        self.blocks.read(self.block)

    def current(self) -> SecretStr | None:
        return key_block(self.block, self.blocks.read)()

    def waiting(self) -> SecretStr | None:
        with suppress(ConfigError):
            return key_block(self._waiting, self.blocks.read)()
        return None

    def leftovers(self) -> list[str]:
        return [] if self.waiting() is None else [self.waiting_name]

    def keep(self, key: SecretStr) -> None:
        self.blocks.write(self._waiting, key.get_secret_value())

    def promote(self) -> None:
        self.blocks.write(self.block, self.blocks.read(self._waiting))
        self.discard()

    def discard(self) -> None:
        self.blocks.delete(self._waiting)

    @property
    def _waiting(self) -> str:
        return f"{self.block}-new"


KeyStore = FileKeyStore | BlockKeyStore  # keeps a new key, which waits beside it until it is tested


def key_store_for(kept: ServiceSettings, blocks: SecretBlocks, new_key_file: Path | None) -> KeyStore:
    """Return where a new key goes: a named file, else where the old one is; ConfigError if that is a variable."""
    if new_key_file is not None:
        return FileKeyStore.of(new_key_file, is_new=True)
    if kept.api_key_file is not None:
        return FileKeyStore.of(kept.api_key_file)
    if kept.api_key_block is not None:
        return BlockKeyStore(kept.api_key_block, blocks)
    where = "no place" if kept.api_key_env is None else f"the environment variable {kept.api_key_env}"
    raise ConfigError(
        f"The settings keep the key in {where}, where it cannot be replaced: give --new-key-file with a path for the "
        "new key. Nothing was rotated."
    )


_ELSEWHERE = "Give --new-key-file with a path for the new key; nothing was rotated."


@contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ConfigError(f"The key's place {path} cannot be written ({error.strerror}).") from error


def _take_rights(descriptor: int, path: Path) -> None:
    """Set on a new file the owner, group, mode and ACL of a key file: the same people can read both, and no others.

    The ACL comes before the mode: a mode alone may let people in whom the ACL keeps out.
    """
    try:
        old, acl = path.stat(), _acl_of(path)
        os.fchown(descriptor, old.st_uid, old.st_gid)
        if acl is not None:
            os.setxattr(descriptor, _ACL, acl)
        elif _acl_of(descriptor) is not None:
            os.removexattr(descriptor, _ACL)  # its folder gives one to each new file
        os.fchmod(descriptor, stat.S_IMODE(old.st_mode))
        new = os.fstat(descriptor)
        is_same = (new.st_uid, new.st_gid, new.st_mode) == (old.st_uid, old.st_gid, old.st_mode)
        if not is_same or _acl_of(descriptor) != acl:
            raise PermissionError(errno.EPERM, "the file system gives it others")
    except OSError as error:
        raise ConfigError(
            f"A new file cannot have the owner, group, mode and ACL of the key file {path} ({error.strerror}), so "
            "those who read the key could not read the new one."
        ) from error


def _acl_of(file: Path | int) -> bytes | None:
    if sys.platform != "linux":
        return None
    try:
        return os.getxattr(file, _ACL)
    except OSError as error:
        if error.errno in _NO_ACL:
            return None
        raise
