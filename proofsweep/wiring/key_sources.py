"""Where the key comes from, by the settings, and that it is never sent to another service than its own."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import SecretStr

from proofsweep.client.keys import KeySource, fingerprint, key_block, key_file, key_variable
from proofsweep.config.load import Settings, environment
from proofsweep.config.sections import ServiceSettings, is_loopback
from proofsweep.domain.errors import ConfigError, ResultsError
from proofsweep.store.keys import bind_key, check_key
from proofsweep.store.objects import Store, open_store

ReadBlock = Callable[[str], str]
"""Reads a secret block of the orchestrator, which the core knows nothing of."""


def key_source(settings: Settings, read_block: ReadBlock | None) -> KeySource:
    """Read the key, but never one that belongs to another service (contract, Authentication 6)."""
    read, store = _key_source(settings.service, read_block), open_store(settings.results.url)

    def read_own() -> SecretStr:
        key = read()
        for each in (store, *filter(_can_be_read, keys_of_machine(settings.service.base_url))):
            check_key(each, fingerprint(key), settings.service.base_url)
        return key

    return read_own


def keys_of_machine(base_url: str) -> Iterator[Store]:
    """Yield where this user's machine remembers the service of each key, so that another store knows it as well.

    What is on this machine itself is no partner: a sandbox has its key at any port.
    """
    if not is_loopback(urlsplit(base_url).hostname or ""):
        with suppress(RuntimeError):  # a user without a home
            state = Path(environment().get("XDG_STATE_HOME") or "~/.local/state").expanduser()
            yield open_store(str(state / "proofsweep"), "record of keys")


def _can_be_read(record: Store) -> bool:
    """Whether a record of keys can be read: a user's home may be another user's."""
    try:
        record.names("_keys")
    except ResultsError:
        return False
    return True


def remember_key(key_fingerprint: str, base_url: str) -> None:
    """Remember the service of a key on this machine, if there is a place for it."""
    with suppress(ResultsError):  # of a container perhaps, whose user has no home
        for each in keys_of_machine(base_url):
            bind_key(each, key_fingerprint, base_url)


def _key_source(service: ServiceSettings, read_block: ReadBlock | None) -> KeySource:
    if service.api_key_file is not None:
        return key_file(service.api_key_file)
    if service.api_key_env is not None:
        return key_variable(service.api_key_env, environment())
    if service.api_key_block is not None and read_block is not None:
        return key_block(service.api_key_block, read_block)
    raise ConfigError("The settings do not say where the API key is kept (service.api_key_file, _env or _block).")
