"""Where a new key is kept: beside its place until it is tested, then in its place. It is never shown."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import SecretStr

from proofsweep.client.keys import drafts_beside, key_block, key_file, settle_drafts, waiting_file, write_draft
from proofsweep.config.local_files import sync_folder
from proofsweep.config.sections import ServiceSettings
from proofsweep.domain.errors import ConfigError

_PROBE_BYTES = 4096  # bytes that a test of the folder writes: a disk must have room for a key


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
        """Read the file beside it, if it exists, or what a killed command has left of it."""
        settle_drafts(self.path)
        return key_file(self._waiting)() if self._waiting.exists() else None

    def leftovers(self) -> list[str]:
        files = [self._waiting, *(draft for draft, _ in drafts_beside(self.path))]
        return [str(each) for each in files if each.exists()]

    def keep(self, key: SecretStr) -> None:
        """Write a file that those can read who can read the key file, and sync it and its folder."""
        with _told(self._waiting):
            draft = write_draft(self.path, key.get_secret_value().encode() + b"\n")
            try:
                draft.replace(self._waiting)
            except FileNotFoundError:  # another command took it for what a killed one has left
                if key not in {self.waiting(), self.current()}:
                    raise
            sync_folder(self.path.parent)

    def promote(self) -> None:
        with _told(self.path):
            if self.is_new and self.path.exists():
                raise ConfigError(f"{self.path} exists; the new key is in {self._waiting}.")
            self._waiting.replace(self.path)
            sync_folder(self.path.parent)
        settle_drafts(self.path)

    def discard(self) -> None:
        with _told(self._waiting):
            self._waiting.unlink(missing_ok=True)

    def _probe(self) -> None:
        with _told(self.path):
            if self.path.exists() and self.path.stat().st_dev != self.path.parent.stat().st_dev:
                raise ConfigError(f"The key file {self.path} is mounted, so it cannot be replaced.")
            write_draft(self.path, b"\0" * _PROBE_BYTES)
            for draft, key in drafts_beside(self.path):
                if not key:  # this one, and what a killed command had begun
                    draft.unlink(missing_ok=True)

    @property
    def _waiting(self) -> Path:
        return waiting_file(self.path)


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
