"""The status of a run as a value: its rows by kind, over all its legs. Pure."""

from dataclasses import dataclass, field
from datetime import datetime

from proofsweep.domain.endings import EndedBy, ending_of
from proofsweep.domain.runs import Plan, seconds_after_reset
from proofsweep.store.progress import OpenLeg

NEED_ATTENTION = ("rejected", "failed", "ineligible")  # The outcomes that somebody must look at


@dataclass(frozen=True, slots=True)
class NamedFile:
    audio: str
    outcome: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    outcome: str
    verdict: str | None
    reason: str | None
    rows: int
    example: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LegStatus:
    """One leg by its receipt. While it runs, `ended_by` is None, and counts lack; a killed one's are by its journal."""

    leg: int
    ended_by: str | None
    why: str | None = None
    quota_reset: datetime | None = None  # when the quota resets, by the leg's last snapshot
    counts: dict[str, object] = field(default_factory=dict)
    in_doubt: int = 0  # rows that were tried, and that no control could decide about
    control_calls: int = 0  # keyed calls of controls, which belong to no row

    def count(self, column: str) -> int | None:
        found = self.counts.get(column)
        return found if isinstance(found, int) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruned:
    intent: str  # name of the object that says what was deleted
    completed_at: str | None  # ISO instant in UTC; None if it did not come to its end


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStatus:
    plan: Plan
    groups: tuple[Group, ...]
    legs: tuple[LegStatus, ...]
    pruned: Pruned | None = None  # None if nothing of it was deleted; else its groups are by outcome alone
    unpublished: int = 0  # rows of the groups that only the journal of a killed leg has: the next leg publishes them
    open_leg: OpenLeg | None = None  # its last leg, if that has no receipt: it is worked on, or was killed

    @property
    def active(self) -> OpenLeg | None:
        """The leg that a process works on now; its rows are not counted in the groups."""
        return self.open_leg if self.open_leg is not None and self.open_leg.is_alive else None

    @property
    def finished(self) -> int:
        return sum(group.rows for group in self.groups)

    @property
    def remaining(self) -> int:
        return self.plan.items - self.finished

    @property
    def answered(self) -> int:
        return self.rows("accepted") + self.rows("rejected")

    @property
    def is_over(self) -> bool:
        """Whether nobody needs to go on with it: all rows are published, or other runs took its place."""
        ending = ending_of(self.ended_by)
        return not (self.remaining or self.unpublished) or (ending is not None and not ending.goes_on)

    @property
    def ended_by(self) -> str | None:
        return self.legs[-1].ended_by if self.legs else None

    @property
    def why(self) -> str | None:
        """What stopped the last leg, in one sentence; None if no row remains."""
        return self.legs[-1].why if self.legs and self.remaining else None

    @property
    def is_in_doubt(self) -> bool:
        """Whether all rows that remain were tried in the last leg, and stayed in doubt."""
        return bool(self.legs) and 0 < self.remaining <= self.legs[-1].in_doubt

    def seconds_after_reset(self, now: datetime, chance: float) -> float:
        """Return how long to wait, by chance from 0 to 1, if the quota that ended the last leg has just reset."""
        reset = self.legs[-1].quota_reset if self.legs and self.ended_by == EndedBy.QUOTA else None
        return seconds_after_reset(reset, now, chance)

    @property
    def calls_if_done(self) -> int | None:
        """What its last leg has called; None if somebody must go on with it."""
        return self.legs[-1].count("calls") or 0 if self.is_over or self.is_in_doubt else None

    @property
    def sunset(self) -> str | None:
        return next((str(leg.counts["sunset"]) for leg in reversed(self.legs) if leg.counts.get("sunset")), None)

    @property
    def remaining_now(self) -> int:
        """How many rows have no outcome yet, less those that the active leg had finished at its last heartbeat."""
        told = None if self.active is None else self.active.progress
        if told is None or told.finished_before is None:
            return self.remaining
        return self.plan.items - told.finished

    def rows_now(self, outcome: str) -> int:
        """Count the rows with one outcome, with those of the active leg as its last heartbeat told them."""
        told = None if self.active is None else self.active.progress
        if told is None:
            return self.rows(outcome)
        return sum(leg.count(outcome) or 0 for leg in self.legs) + told.counts.get(outcome, 0)

    def rows(self, outcome: str) -> int:
        return sum(group.rows for group in self.groups if group.outcome == outcome)

    def total(self, column: str) -> int:
        return sum(leg.count(column) or 0 for leg in self.legs)

    @property
    def calls_unrecorded(self) -> int | None:
        """Calls that are in no table: 0; None if a leg was killed, since they are not known then."""
        return None if any(leg.ended_by in {None, EndedBy.KILLED} for leg in self.legs) else 0

    @property
    def seconds(self) -> float:
        return sum(_seconds(leg.counts) for leg in self.legs)


def _seconds(counts: dict[str, object]) -> float:
    began, ended = counts.get("started_at"), counts.get("finished_at")
    if began is None or ended is None:
        return 0.0
    return (datetime.fromisoformat(str(ended)) - datetime.fromisoformat(str(began))).total_seconds()
