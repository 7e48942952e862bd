"""The runs that are worked on now, and how far they are; read from the store, with few requests."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from proofsweep.model.runs import Plan
from proofsweep.store.active_legs import OpenLeg, progress_of
from proofsweep.store.plans_and_parts import Results
from proofsweep.store.receipts import has_claim
from proofsweep.store.run_index import IndexedRuns, RunIndex

# Unfinished runs that may be worked on. Chosen: nobody resumes older ones; each costs one request.
_MOST_RUNS = 10


@dataclass(frozen=True, slots=True)
class ActiveRun:
    """A run that a process works on."""

    plan: Plan
    leg: OpenLeg

    @property
    def run_id(self) -> str:
        """Its ID."""
        return self.plan.run_id


@dataclass(frozen=True, slots=True)
class Now:
    """What goes on now.

    Attributes:
        active: the runs that are worked on, the newest first.
        state: another text when a run or a leg has begun or ended; it says nothing else.
    """

    active: tuple[ActiveRun, ...]
    state: str

    def active_run(self, run_id: str) -> ActiveRun | None:
        """Return a run if it is worked on."""
        return next((run for run in self.active if run.run_id == run_id), None)


def now_in(results: Results) -> Now:
    """Look at a store; ResultsError if it cannot be read."""
    index = RunIndex(results).refreshed()
    active = tuple(_active(results, index))
    known = "".join(f"{record.plan.run_id} {len(record.legs)}\n" for record in index.newest_first())
    ongoing = "".join(f"{run.run_id} {run.leg.leg} active\n" for run in active)
    return Now(active, hashlib.sha256(f"{known}{ongoing}".encode()).hexdigest()[:16])


def _active(results: Results, index: IndexedRuns) -> Iterator[ActiveRun]:
    unfinished = (record for record in index.newest_first() if not record.is_over)
    for record in islice(unfinished, _MOST_RUNS):
        if has_claim(results.store, record.plan.run_id, len(record.legs) + 1):
            leg = progress_of(results, record.plan.run_id)
            if leg is not None and leg.is_alive:
                yield ActiveRun(record.plan, leg)
