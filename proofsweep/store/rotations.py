"""The rotations of keys: one intent for each key that is rotated, and one row for each that was answered."""

import json
from contextlib import suppress
from dataclasses import asdict
from datetime import date

from proofsweep.domain.errors import NameTaken, ResultsError
from proofsweep.domain.items import Row
from proofsweep.domain.operations import Rotation, RotationIntent
from proofsweep.store import layout
from proofsweep.store.objects import json_bytes
from proofsweep.store.operations import Operations
from proofsweep.store.parts import Results

_TABLE = "rotations"


class Rotations:
    def __init__(self, results: Results) -> None:
        self._results = results

    def begin(self, intent: RotationIntent) -> RotationIntent:
        """Write the intent for a key, durably; return the one that counts, which another process may have written."""
        try:
            self._results.store.create(layout.rotation_name(intent.key_fingerprint), json_bytes(asdict(intent)))
        except NameTaken:
            intent = self.begun(intent.key_fingerprint) or intent
        with suppress(NameTaken):
            Operations(self._results).write_intent(intent.operation, {"key_fingerprint": intent.key_fingerprint})
        return intent

    def begun(self, key_fingerprint: str) -> RotationIntent | None:
        """Read the intent for a key; None if no rotation of it began here. ResultsError if it is damaged."""
        name = layout.rotation_name(key_fingerprint)
        content = self._results.store.read(name)
        try:
            return None if content is None else RotationIntent(**json.loads(content))
        except (ValueError, TypeError) as damage:
            raise ResultsError(
                f"{name} in the results store {self._results.store.url} is damaged. Restore it from a backup: without "
                "its Idempotency-Key an interrupted rotation cannot be finished."
            ) from damage

    def unfinished(self, key_fingerprint: str) -> RotationIntent | None:
        """Read the intent for a key whose rotation has no receipt; None if there is none."""
        intent = self.begun(key_fingerprint)
        is_open = intent is not None and Operations(self._results).receipt(intent.operation_id) is None
        return intent if is_open else None

    def record(self, rotation: Rotation, run_date: date) -> Rotation:
        """Write the row of a rotation once; give the one that is there, which another process may have written."""
        name = layout.operation_part_name(_TABLE, rotation.operation_id, run_date, 0)
        try:
            self._results.create_part(name, _TABLE, [rotation.row()])
        except NameTaken:
            return _rotation_of(self._results.table(_TABLE, [name]).to_pylist()[0])
        return rotation

    def answered(self) -> list[Rotation]:
        """Read all rows, the oldest first; there are few. ResultsError if a part is damaged."""
        table = self._results.table(_TABLE, self._results.all_parts(_TABLE))
        return sorted(map(_rotation_of, table.to_pylist()), key=lambda rotation: rotation.answered_at)


def _rotation_of(row: Row) -> Rotation:
    return Rotation(**row)  # type: ignore[arg-type]  # the schema has the types of the cells
