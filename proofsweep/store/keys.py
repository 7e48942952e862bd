"""Which service each key belongs to, by its fingerprint: one small object, created at the key's first use."""

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from proofsweep.config.sections import is_loopback
from proofsweep.domain.errors import NameTaken, ResultsError
from proofsweep.store import layout
from proofsweep.store.objects import Store, open_store


def bind_key(store: Store, fingerprint: str, base_url: str) -> None:
    """Record a key's service; ResultsError if it had another (contract, Authentication 6)."""
    try:
        store.create(layout.key_name(fingerprint), json.dumps({"base_url": base_url}).encode())
    except NameTaken:
        check_key(store, fingerprint, base_url)


def check_key(store: Store, fingerprint: str, base_url: str) -> None:
    """Raise ResultsError if this key was used with another service."""
    content = store.read(layout.key_name(fingerprint))
    bound = json.loads(content)["base_url"] if content else base_url
    if bound != base_url:
        raise ResultsError(
            f"This key was used with {bound} before; it is not sent to {base_url}. Keys belong to one environment: "
            "check the base URL and the key's source. If the partner has moved, delete what says so: "
            f"{store.url}/{layout.key_name(fingerprint)}."
        )


def check_key_everywhere(store: Store, state_home: str | None, fingerprint: str, base_url: str) -> None:
    """Raise ResultsError if a results store, or this user's machine, knows the key as another service's."""
    for each in (store, *filter(_can_be_read, keys_of_machine(state_home, base_url))):
        check_key(each, fingerprint, base_url)


def remember_key(state_home: str | None, fingerprint: str, base_url: str) -> None:
    """Remember the service of a key on this machine, if there is a place for it."""
    with suppress(ResultsError):  # of a container perhaps, whose user has no home
        for each in keys_of_machine(state_home, base_url):
            bind_key(each, fingerprint, base_url)


def keys_of_machine(state_home: str | None, base_url: str) -> Iterator[Store]:
    """Yield where this user's machine remembers the service of each key, so that another store knows it as well.

    What is on this machine itself is no partner: a sandbox has its key at any port.
    """
    if not is_loopback(urlsplit(base_url).hostname or ""):
        with suppress(RuntimeError):  # a user without a home
            yield open_store(str(Path(state_home or "~/.local/state").expanduser() / "proofsweep"), "record of keys")


def _can_be_read(record: Store) -> bool:
    """Whether a record of keys can be read: a user's home may be another user's."""
    try:
        record.names("_keys")
    except ResultsError:
        return False
    return True
