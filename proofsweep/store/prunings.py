"""What prunings delete of runs: each is decided and written down before its first deletion."""

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import TypeAdapter

from proofsweep.store import layout
from proofsweep.store.objects import Store, read_document


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruning:
    """One pruning of a run. One that keeps parts may be pruned again later."""

    run_id: str
    number: int  # counts its prunings from 1
    decided_at: str  # ISO instant in UTC
    older_than_days: int  # the age that was asked for
    is_whole: bool  # no row of it stays but those of `runs`
    deleted: Mapping[str, int]  # sizes in bytes of all objects that go, by their names
    after_entry: int  # the newest of the ledger when it was decided
    proofsweep_version: str

    @property
    def name(self) -> str:
        return layout.pruning_name(self.run_id, self.number)

    @property
    def size_bytes(self) -> int:
        return sum(self.deleted.values())

    @property
    def last(self) -> str:
        """The object that is deleted after all others."""
        return [*self.deleted][-1]


_PRUNING = TypeAdapter(Pruning)


def prunings_of(store: Store, run_id: str) -> list[Pruning]:
    """Read the prunings of a run, the oldest first, none if it had none; ResultsError if one is damaged."""
    found: list[Pruning] = []
    while (pruning := read_document(store, layout.pruning_name(run_id, len(found) + 1), _PRUNING)) is not None:
        found.append(pruning)
    return found


def pruned_names(store: Store, run_id: str) -> frozenset[str]:
    """Name all objects of a run that prunings have deleted, or will when they are repeated."""
    return frozenset(name for pruning in prunings_of(store, run_id) for name in pruning.deleted)
