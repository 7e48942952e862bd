"""Where the API key comes from, and its fingerprint, which does not show it (contract, Authentication)."""

import hashlib
import os
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

from pydantic import SecretStr

from proofsweep.errors import ConfigError
from proofsweep.partner.key_drafts import settle_drafts

KeySource = Callable[[], SecretStr]  # Reads the key from where it is kept; ConfigError when there is none

# Bounds what a wrong path can fill the memory with. Chosen: any key is far shorter.
_MOST_KEY_BYTES = 4096


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
        return usable_key(content.decode("ascii", "replace"), where=f"The key file {path}")

    return read


def key_variable(name: str, environ: Mapping[str, str]) -> KeySource:
    """Read the key from an environment variable."""
    return lambda: usable_key(environ.get(name, ""), where=f"The environment variable {name}")


def key_block(name: str, load: Callable[[str], str]) -> KeySource:
    """Read the key from a secret block of the orchestrator, with its `load`."""
    return lambda: usable_key(load(name), where=f"The secret block {name}")


def usable_key(text: str, *, where: str) -> SecretStr:
    """Check that a text can be sent as the `x-api-key` header.

    ConfigError if it is empty, or holds what a header cannot. The error does not show the text.
    """
    key = text.strip()
    if not key:
        raise ConfigError(f"{where} holds no key.")
    if not all("!" <= letter <= "~" for letter in key):
        raise ConfigError(f"{where} holds more than one key: spaces, line breaks or letters that no header can carry.")
    return SecretStr(key)


def fingerprint(key: SecretStr) -> str:
    """Tell keys apart: 12 hex digits of a domain-separated SHA-256, which does not reveal the key."""
    return hashlib.sha256(b"proofsweep api key\0" + key.get_secret_value().encode()).hexdigest()[:12]


class CurrentKey:
    """The key in use; it is read again when the service refuses it, so that a rotated key replaces it."""

    def __init__(self, source: KeySource) -> None:
        self._source = source
        self._lock = threading.Lock()
        self._key = source()

    def get(self) -> SecretStr:
        """Return the key that was read last."""
        return self._key

    def renew(self, refused: SecretStr) -> bool:
        """Read the key again after `refused` was refused; say whether there is now another one."""
        with self._lock:
            if self._key == refused:
                self._key = self._source()
            return self._key != refused
