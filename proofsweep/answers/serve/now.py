"""The runs that are worked on now, and how far they are; read from the store, with few requests."""

import hashlib
from dataclasses import dataclass

from proofsweep.answers.describe_run import active_legs
from proofsweep.model.progress import OpenLeg
from proofsweep.model.runs import Plan
from proofsweep.store.plans_and_parts import Results
from proofsweep.store.run_index import RunIndex


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
    active = tuple(ActiveRun(index.records[leg.run_id].plan, leg) for leg in active_legs(results, index))
    known = "".join(f"{record.plan.run_id} {len(record.legs)}\n" for record in index.newest_first())
    ongoing = "".join(f"{run.run_id} {run.leg.leg} active\n" for run in active)
    return Now(active, hashlib.sha256(f"{known}{ongoing}".encode()).hexdigest()[:16])
