"""What a pruning deletes of a run: decided before the first deletion, written down, and receipted after the last."""

import json
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
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
    keep: str  # the rule by which parts are kept
    kept: tuple[str, ...]  # names of the parts with rows that stay; exchanges are none of them
    deleted: tuple[PrunedObject, ...]  # all objects that go
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
    found = []
    for name in (each for each in store.names(layout.pruning_folder(run_id)) if each.endswith("-intent.json")):
        try:
            found.append(_PRUNING.validate_json(store.read(name) or b""))
        except ValueError as damage:
            raise damaged(store, name) from damage
    return found


def completed_at(store: Store, pruning: Pruning) -> str | None:
    """Return when a pruning had deleted all that its intent names, as an ISO instant; None if it has not yet."""
    content = store.read(layout.pruning_receipt_name(pruning.run_id, pruning.number))
    return None if content is None else str(json.loads(content)["completed_at"])


def pruned_names(store: Store, run_id: str) -> frozenset[str]:
    """Name all objects of a run that prunings have deleted, or will when they are repeated."""
    return frozenset(each.name for pruning in prunings_of(store, run_id) for each in pruning.deleted)


def wholly_pruned(store: Store, known: Collection[str]) -> Iterator[str]:
    """Name the runs of which a completed pruning left no row of `verdicts`, but for those that are known."""
    for run_id in (name for name in store.folders(layout.PRUNED_FOLDER) if name not in known):
        last = prunings_of(store, run_id)[-1:]
        if last and last[0].is_whole and completed_at(store, last[0]) is not None:
            yield run_id


def write_intent(store: Store, pruning: Pruning) -> None:
    """Write what will be deleted; NameTaken if another process prunes the run at the same moment."""
    store.create(layout.pruning_intent_name(pruning.run_id, pruning.number), json_bytes(asdict(pruning)))


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
