"""Keys, by their fingerprints: which service each belongs to, and its rotation.

A key's service is one small object, created at its first use. A rotation is one intent for each key that is rotated,
and one row for each that was answered.
"""

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from proofsweep.config.sections import is_loopback
from proofsweep.domain.errors import NameTaken, ResultsError
from proofsweep.domain.items import Row
from proofsweep.domain.operations import Operation, Rotation, RotationIntent
from proofsweep.store import layout
from proofsweep.store.objects import Store, json_bytes, open_store

if TYPE_CHECKING:  # `proofsweep check` asks for a key's service, and loads no Arrow
    from proofsweep.store.operations import Operations

_TABLE = "rotations"


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


class Rotations:
    def __init__(self, operations: "Operations") -> None:
        self._operations = operations
        self._results = operations.results

    def begin(self, intent: RotationIntent) -> RotationIntent:
        """Write the intent for a key, durably; return the one that counts, which another process may have written."""
        try:
            self._results.store.create(layout.rotation_name(intent.key_fingerprint), json_bytes(intent.document()))
        except NameTaken:
            intent = self.begun(intent.key_fingerprint) or intent
        operation = Operation.of(intent.document())  # the plan does not hold the Idempotency-Key
        with suppress(NameTaken):
            self._operations.write_plan(operation, {"key_fingerprint": intent.key_fingerprint})
        return intent

    def begun(self, key_fingerprint: str) -> RotationIntent | None:
        """Read the intent for a key; None if no rotation of it began here. ResultsError if it is damaged."""
        name = layout.rotation_name(key_fingerprint)
        content = self._results.store.read(name)
        try:
            return None if content is None else RotationIntent.of(json.loads(content))
        except (ValueError, TypeError, KeyError) as damage:
            raise ResultsError(
                f"{name} in the results store {self._results.store.url} is damaged. Restore it from a backup: without "
                "its Idempotency-Key an interrupted rotation cannot be finished."
            ) from damage

    def unfinished(self, key_fingerprint: str) -> RotationIntent | None:
        """Read the intent for a key whose rotation has no receipt; None if there is none."""
        intent = self.begun(key_fingerprint)
        is_open = intent is not None and not self._operations.is_complete(intent.operation_id)
        return intent if is_open else None

    def record(self, rotation: Rotation, run_date: date) -> Rotation:
        """Write the row of a rotation once; give the one that is there, which another process may have written."""
        name = rotation_part_name(rotation.operation_id, run_date)
        try:
            self._results.create_part(name, _TABLE, [asdict(rotation)])
        except NameTaken:
            return _rotation_of(self._results.table(_TABLE, [name]).to_pylist()[0])
        return rotation

    def answered(self) -> list[Rotation]:
        """Read all rows, the oldest first; there are few. ResultsError if a part is damaged."""
        table = self._results.table(_TABLE, self._results.all_parts(_TABLE))
        return sorted(map(_rotation_of, table.to_pylist()), key=lambda rotation: rotation.answered_at)


def rotation_part_name(operation_id: str, run_date: date) -> str:
    """The row of a rotation, which is durable before its command goes on; leg 0 stands for all of its commands."""
    return layout.part_name(_TABLE, operation_id, run_date, 0, 0)


def _rotation_of(row: Row) -> Rotation:
    return Rotation(**row)  # type: ignore[arg-type]  # the schema has the types of the cells


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
