"""What a results store knows of rotations of keys: one intent for each key, and a row for each answer."""

from dataclasses import asdict

from pydantic import TypeAdapter

from proofsweep.domain.errors import NameTaken, ResultsError
from proofsweep.domain.operations import Rotation, RotationIntent
from proofsweep.domain.text import minute_of
from proofsweep.store import layout
from proofsweep.store.objects import Store, json_bytes
from proofsweep.store.operations import is_complete
from proofsweep.store.parts import Results

_INTENT = TypeAdapter(RotationIntent)


def begin_rotation(store: Store, intent: RotationIntent) -> RotationIntent:
    """Write the intent for a key, durably; return the one that counts, which another process may have written."""
    try:
        store.create(layout.rotation_name(intent.key_fingerprint), json_bytes(asdict(intent)))
    except NameTaken:
        return begun_rotation(store, intent.key_fingerprint) or intent
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


def recorded_rotations(results: Results) -> list[Rotation]:
    """Read all rows, the oldest first; there are few. ResultsError if a part is damaged."""
    rows = results.table("rotations", results.all_parts("rotations")).sort_by("answered_at").to_pylist()
    return [Rotation(**row) for row in rows]


def unfinished_rotation(store: Store, key_fingerprint: str) -> str | None:
    """Return which rotation of the key in use was not finished; None if there is none."""
    begun = begun_rotation(store, key_fingerprint)
    if begun is None or is_complete(store, begun.operation_id):
        return None
    began = minute_of(begun.started_at)
    return f"a rotation of this key began at {began} and was not finished: run `proofsweep keys rotate` again"
