"""What a pruning deletes of a run: decided before the first deletion, written down, and receipted after the last."""

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from pydantic import TypeAdapter

from proofsweep.domain.errors import NameTaken
from proofsweep.store import layout
from proofsweep.store.objects import Store, damaged, json_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class PrunedObject:
    """An object to delete; `rows` and `sha256` as a receipt has them, None if none names the object."""

    name: str
    size_bytes: int
    rows: int | None = None
    sha256: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruning:
    """One pruning of a run. One that keeps parts may be pruned again later."""

    run_id: str
    number: int  # counts its prunings from 1
    decided_at: str  # ISO instant in UTC
    run_ended_at: str  # ISO instant in UTC
    older_than_days: int  # the age that was asked for
    kept: Sequence[str]  # names of the parts with rows that stay; exchanges are none of them
    deleted: Sequence[PrunedObject]  # all objects that go
    after_entry: int = 0  # the newest of the ledger when it was decided
    proofsweep_version: str = ""

    @property
    def is_whole(self) -> bool:
        """Return whether no row of it stays but those of `runs`."""
        return not self.kept

    @property
    def size_bytes(self) -> int:
        return sum(each.size_bytes for each in self.deleted)

    def rows_of(self, table: str) -> int:
        return sum(each.rows or 0 for each in self.deleted if each.name.startswith(f"{table}/"))


_PRUNING = TypeAdapter(Pruning)


def prunings_of(store: Store, run_id: str) -> list[Pruning]:
    """Read the intents of a run's prunings, the oldest first, none if it had none; ResultsError if one is damaged."""
    found: list[Pruning] = []
    while (content := store.read(name := layout.pruning_intent_name(run_id, len(found) + 1))) is not None:
        try:
            found.append(_PRUNING.validate_json(content))
        except ValueError as damage:
            raise damaged(store, name) from damage
    return found


def begun_prunings(store: Store) -> list[Pruning]:
    """Read the prunings that were decided, and did not come to their end."""
    there = frozenset(store.names(layout.PRUNED_FOLDER))
    intents = (name for name in there if name.endswith(layout.INTENT))
    begun = {layout.run_of(name) for name in intents if name.replace(layout.INTENT, layout.RECEIPT) not in there}
    return [pruning for run_id in sorted(begun) for pruning in prunings_of(store, run_id)[-1:]]


def completed_at(store: Store, pruning: Pruning) -> str | None:
    """Return when a pruning had deleted all that its intent names, as an ISO instant; None if it has not yet."""
    content = store.read(layout.pruning_receipt_name(pruning.run_id, pruning.number))
    return None if content is None else str(json.loads(content)["completed_at"])


def pruned_names(store: Store, run_id: str) -> frozenset[str]:
    """Name all objects of a run that prunings have deleted, or will when they are repeated."""
    return frozenset(each.name for pruning in prunings_of(store, run_id) for each in pruning.deleted)


def write_receipt(store: Store, pruning: Pruning, now: datetime) -> None:
    """Write that all is deleted; another process that completed the same pruning may have said so before."""
    document = {
        "run_id": pruning.run_id,
        "intent": layout.pruning_intent_name(pruning.run_id, pruning.number),
        "completed_at": now.isoformat(timespec="seconds"),
        "objects": len(pruning.deleted),
        "size_bytes": pruning.size_bytes,
    }
    with suppress(NameTaken):
        store.create(layout.pruning_receipt_name(pruning.run_id, pruning.number), json_bytes(document))
