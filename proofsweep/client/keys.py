"""Where the API key comes from, and its fingerprint, which does not show it (contract, Authentication)."""

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path

from pydantic import SecretStr

from proofsweep.config.secret_places import shown_file, shown_name
from proofsweep.config.sections import ServiceSettings
from proofsweep.config.threads import Lock
from proofsweep.domain.errors import ConfigError
from proofsweep.domain.text import text_of_file

KeySource = Callable[[], SecretStr]  # Reads the key from where it is kept; ConfigError when there is none

_MOST_KEY_BYTES = 4096  # bounds what a wrong path can fill the memory with


def key_source(
    service: ServiceSettings, environ: Mapping[str, str], read_block: Callable[[str], str] | None
) -> KeySource:
    """Return the source that the settings name; ConfigError if they name none that can be read here."""
    if service.api_key_file is not None:
        return key_file(service.api_key_file)
    if service.api_key_env is not None:
        name = service.api_key_env
        where = shown_name(name, "service.api_key_env", is_there=name in environ)
        return lambda: usable_key(environ.get(name, ""), where=f"The environment variable {where}")
    if service.api_key_block is not None and read_block is not None:
        block = service.api_key_block
        return lambda: usable_key(read_block(block), where=f"The secret block {block}")
    raise ConfigError("The settings do not say where the API key is kept (service.api_key_file, _env or _block).")


def key_file(path: Path) -> KeySource:
    """Read the key from a file that holds nothing else."""
    where = f"The key file {shown_file(path, 'service.api_key_file')}"

    def read() -> SecretStr:
        try:
            with path.open("rb") as file:
                content = file.read(_MOST_KEY_BYTES)
        except OSError as error:
            raise ConfigError(
                f"{where} cannot be read ({error.strerror}): name a readable key file, "
                "or start `proofsweep sandbox` first if that is the service."
            ) from error
        return usable_key(text_of_file(content, "replace"), where=where)

    return read


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
    """The key in use. It is read again when the service refuses it, so that a rotated key replaces it."""

    def __init__(self, source: KeySource) -> None:
        self._source = source
        self._lock = Lock()
        self.bound = set[SecretStr]()  # keys whose service is remembered
        self.bind: Callable[[SecretStr], bool] = lambda _key: True  # remembers it, and says whether that is done
        self.current = source()
        self.on_renewed: Callable[[], object] = lambda: None  # told when another key took over

    def accepted(self, key: SecretStr) -> None:
        """Take note that the service took a key, which is this service's from then on (contract, Authentication 6)."""
        if self.bind(key):
            self.bound.add(key)

    def renew(self, refused: SecretStr) -> bool:
        """Read the key again after the service refused it. Return whether there is now another one."""
        with self._lock:
            if self.current == refused:
                self.current = self._source()
                if self.current != refused:
                    self.on_renewed()
            return self.current != refused
