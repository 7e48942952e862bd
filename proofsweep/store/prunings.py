"""The prunings of runs: an intent is written before the first deletion, a receipt after the last."""

import json
from collections.abc import Collection, Iterator
from contextlib import suppress
from datetime import datetime

from pydantic import TypeAdapter

from proofsweep.domain.errors import NameTaken
from proofsweep.store import layout
from proofsweep.store.pruning import Pruning
from proofsweep.store.store import Store, damaged, json_bytes

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
    store.create(layout.pruning_intent_name(pruning.run_id, pruning.number), json_bytes(pruning.document()))


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
