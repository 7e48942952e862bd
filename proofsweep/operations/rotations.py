"""Rotations of keys: one intent for each key, one row for each answer; and what they tell of the service's keys."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from datetime import date, datetime

from pydantic import TypeAdapter

from proofsweep.client.client import Partner
from proofsweep.domain.errors import CallFailed, NameTaken, ResultsError
from proofsweep.domain.models import KeyRecord
from proofsweep.domain.operations import Operation, Rotation, RotationIntent
from proofsweep.store import layout
from proofsweep.store.objects import Store, json_bytes
from proofsweep.store.operations import write_operation
from proofsweep.store.parts import Results

_TABLE = "rotations"
_INTENT = TypeAdapter(RotationIntent)


def begin_rotation(store: Store, intent: RotationIntent) -> RotationIntent:
    """Write the intent for a key, durably; return the one that counts, which another process may have written."""
    try:
        store.create(layout.rotation_name(intent.key_fingerprint), json_bytes(asdict(intent)))
    except NameTaken:
        intent = begun_rotation(store, intent.key_fingerprint) or intent
    with suppress(NameTaken):  # the plan does not hold the Idempotency-Key
        write_operation(store, Operation(**{each.name: getattr(intent, each.name) for each in fields(Operation)}))
    return intent


def begun_rotation(store: Store, key_fingerprint: str) -> RotationIntent | None:
    """Read the intent for a key; None if no rotation of it began here. ResultsError if it is damaged."""
    name = layout.rotation_name(key_fingerprint)
    content = store.read(name)
    try:
        return None if content is None else _INTENT.validate_json(content)
    except ValueError as damage:
        raise ResultsError(
            f"{name} in the results store {store.url} is damaged. Restore it from a backup: without its "
            "Idempotency-Key an interrupted rotation cannot be finished."
        ) from damage


def record_rotation(results: Results, rotation: Rotation, run_date: date) -> Rotation:
    """Write the row of a rotation once; give the one that is there, which another process may have written."""
    name = rotation_part_name(rotation.operation_id, run_date)
    try:
        results.create_part(name, _TABLE, [asdict(rotation)])
    except NameTaken:
        (rotation,) = _rotations_in(results, [name])
    return rotation


def recorded_rotations(results: Results) -> list[Rotation]:
    """Read all rows, the oldest first; there are few. ResultsError if a part is damaged."""
    return _rotations_in(results, results.all_parts(_TABLE))


def _rotations_in(results: Results, names: Iterable[str]) -> list[Rotation]:
    rows = results.table(_TABLE, names).sort_by("answered_at").to_pylist()
    return [Rotation(**row) for row in rows]


def rotation_part_name(operation_id: str, run_date: date) -> str:
    """The row of a rotation, which is durable before its command goes on; leg 0 stands for all of its commands."""
    return layout.part_name(_TABLE, operation_id, run_date, 0, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedKey:
    """A key as the service lists it, and what recorded rotations tell of it; None is unknown, or has not happened."""

    record: KeyRecord
    is_in_use: bool | None
    made_at: datetime | None
    expires_at: datetime | None


def list_keys(partner: Partner, rotations: Iterable[Rotation], key_fingerprint: str) -> list[ListedKey]:
    """Ask for all pages, and add to each key what the recorded rotations tell of it."""
    made, ends, in_use = dict[str, datetime](), dict[str, datetime](), None
    for each in rotations:
        if each.key_id is not None:
            ends[each.key_id] = each.old_key_ends_at
        if each.new_key_id is not None:
            made[each.new_key_id] = each.answered_at
            in_use = each.new_key_id if each.new_key_fingerprint == key_fingerprint else in_use
    return [
        ListedKey(
            record=record,
            is_in_use=None if in_use is None else record.key_id == in_use,
            made_at=made.get(record.key_id or ""),
            expires_at=ends.get(record.key_id or ""),
        )
        for record in _all_keys(partner)
    ]


def _all_keys(partner: Partner) -> Iterator[KeyRecord]:
    """Follow the pages; the contract gives the whole inventory without `limit`, and allows a cursor all the same."""
    cursor, seen = None, set[str | None]()
    while cursor not in seen:
        seen.add(cursor)
        page = partner.keys(cursor=cursor)
        yield from page.keys
        cursor = page.next_cursor
        if cursor is None:
            return
    raise CallFailed("The list of keys does not end: a cursor came twice.", stage="keys", reason="bad_answer")
