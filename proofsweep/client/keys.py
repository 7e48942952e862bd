"""Where the API key comes from, and its fingerprint, which does not show it (contract, Authentication)."""

import errno
import hashlib
import os
import re
import secrets
import stat
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from pydantic import SecretStr

from proofsweep.config.local_files import sync_file
from proofsweep.config.sections import ServiceSettings
from proofsweep.domain.errors import ConfigError
from proofsweep.domain.text import text_of_file

KeySource = Callable[[], SecretStr]  # Reads the key from where it is kept; ConfigError when there is none

_MOST_KEY_BYTES = 4096  # bounds what a wrong path can fill the memory with
_ACL = "system.posix_acl_access"
_NO_ACL = frozenset({errno.ENODATA, errno.ENOTSUP})


def key_source(
    service: ServiceSettings, environ: Mapping[str, str], read_block: Callable[[str], str] | None
) -> KeySource:
    """Return the source that the settings name; ConfigError if they name none that can be read here."""
    if service.api_key_file is not None:
        return key_file(service.api_key_file)
    if service.api_key_env is not None:
        return key_variable(service.api_key_env, environ)
    if service.api_key_block is not None and read_block is not None:
        return key_block(service.api_key_block, read_block)
    raise ConfigError("The settings do not say where the API key is kept (service.api_key_file, _env or _block).")


def key_file(path: Path) -> KeySource:
    """Read the key from a file that holds nothing else; what a killed rotation has left beside it is put right."""

    def read() -> SecretStr:
        try:
            settle_drafts(Path(os.path.realpath(path)))
            with path.open("rb") as file:
                content = file.read(_MOST_KEY_BYTES)
        except OSError as error:
            raise ConfigError(
                f"The key file {path} cannot be read ({error.strerror}): name a readable key file, "
                "or start `proofsweep sandbox` first if that is the service."
            ) from error
        return usable_key(text_of_file(content, "replace"), where=f"The key file {path}")

    return read


def key_variable(name: str, environ: Mapping[str, str]) -> KeySource:
    return lambda: usable_key(environ.get(name, ""), where=f"The environment variable {name}")


def key_block(name: str, load: Callable[[str], str]) -> KeySource:
    return lambda: usable_key(load(name), where=f"The secret block {name}")


def usable_key(text: str, *, where: str) -> SecretStr:
    """Return a text that can be the `x-api-key` header; ConfigError, which does not show it, if it cannot."""
    key = text.removeprefix("\ufeff").strip()
    if not key:
        raise ConfigError(f"{where} holds no key.")
    if not all("!" <= letter <= "~" for letter in key):
        raise ConfigError(f"{where} holds more than one key: spaces, line breaks or letters that no header can carry.")
    return SecretStr(key)


def fingerprint(key: SecretStr) -> str:
    """Tell keys apart: 12 hex digits of a domain-separated SHA-256, which does not reveal the key."""
    return hashlib.sha256(b"proofsweep api key\0" + key.get_secret_value().encode()).hexdigest()[:12]


class CurrentKey:
    """The `current` key; it is read again when the service refuses it, so that a rotated key replaces it."""

    def __init__(self, source: KeySource) -> None:
        self._source = source
        self._lock = threading.Lock()
        self.current = source()

    def renew(self, refused: SecretStr) -> bool:
        """Read the key again after `refused` was refused; say whether there is now another one."""
        with self._lock:
            if self.current == refused:
                self.current = self._source()
            return self.current != refused


def waiting_file(path: Path) -> Path:
    return path.with_name(f"{path.name}.new")


def write_draft(path: Path, content: bytes) -> Path:
    """Write a new hidden file beside a key file, durably; it has the rights of the key file before its first byte.

    Without a key file it is for its owner only. ConfigError if the rights cannot be given; OSError if it cannot be
    written.
    """
    draft = path.with_name(f".{path.name}-{secrets.token_hex(8)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            if path.exists():
                _take_rights(descriptor, path)
            file.write(content)
            sync_file(file)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    return draft


def drafts_beside(path: Path) -> Iterator[tuple[Path, bytes]]:
    """Yield the drafts beside a key file, each with its key; one that is not whole, or cannot be read, has none."""
    is_draft = re.compile(rf"\.{re.escape(path.name)}-[0-9a-f]{{16}}").fullmatch
    with suppress(OSError):
        for draft in sorted(each for each in path.parent.iterdir() if is_draft(each.name)):
            content = _content(draft)
            yield draft, content.strip() if content.endswith(b"\n") else b""


def settle_drafts(path: Path) -> None:
    """Put a key that a killed command has left in a draft where it waits; delete a draft whose key is kept elsewhere.

    What is not whole stays, since a command may be writing it; so does what this user may not change.
    """
    waiting = waiting_file(path)
    for draft, key in drafts_beside(path):
        with suppress(OSError):
            if key and key in {_content(path).strip(), _content(waiting).strip()}:
                draft.unlink()
            elif key and not waiting.exists():
                draft.rename(waiting)


def _content(path: Path) -> bytes:
    with suppress(OSError):
        return path.read_bytes()
    return b""


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
