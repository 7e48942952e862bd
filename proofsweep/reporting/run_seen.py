"""Say how a run stands: counts over all its legs, what to do about each kind of row, and its exit code."""

from dataclasses import dataclass, field
from datetime import UTC, datetime

from proofsweep.batch.runs import Plan
from proofsweep.storage.legs import Legs
from proofsweep.storage.results import Results

OUTCOMES = ("accepted", "rejected", "failed", "ineligible")


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Rows of one kind: same outcome, verdict and reason."""

    outcome: str
    verdict: str | None
    reason: str | None
    rows: int
    example: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LegSeen:
    """One leg as its receipt tells it; `ended_by` is None while it has none."""

    leg: int
    ended_by: str | None
    why: str | None = None
    counts: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSeen:
    """A run as its parts and receipts tell it."""

    plan: Plan
    groups: tuple[Group, ...]
    legs: tuple[LegSeen, ...]

    @property
    def finished(self) -> int:
        """Rows that have an outcome."""
        return sum(group.rows for group in self.groups)

    @property
    def remaining(self) -> int:
        """Rows that have none yet."""
        return self.plan.items - self.finished

    @property
    def ended_by(self) -> str | None:
        """How the last leg ended; None while it has not, or where there was none."""
        return self.legs[-1].ended_by if self.legs else None

    @property
    def why(self) -> str | None:
        """What stopped the last leg, in one sentence; None where rows do not remain."""
        return self.legs[-1].why if self.legs and self.remaining else None

    @property
    def sunset(self) -> str | None:
        """The last Sunset header that the service sent in this run: a breaking change is announced."""
        return next((str(leg.counts["sunset"]) for leg in reversed(self.legs) if leg.counts.get("sunset")), None)

    def rows(self, outcome: str) -> int:
        """Count the rows of one outcome."""
        return sum(group.rows for group in self.groups if group.outcome == outcome)

    def total(self, column: str) -> int:
        """Add a count of the `runs` table up over all legs."""
        return sum(count for leg in self.legs if isinstance(count := leg.counts.get(column), int))

    @property
    def seconds(self) -> float:
        """How long the legs worked, together."""
        return sum(_seconds(leg.counts) for leg in self.legs)


def describe_run(results: Results, run_id: str) -> RunSeen:
    """Read a run's state from its store.

    Raises:
        ResultsError: there is no such run.
    """
    plan = results.plan(run_id)
    legs = Legs(results, run_id, lambda: datetime.now(UTC))
    return RunSeen(
        plan=plan, groups=_groups(results, plan), legs=tuple(_leg_seen(legs, number) for number in legs.numbers())
    )


def newest_unfinished(results: Results) -> str | None:
    """Name the newest run that has rows left; None when there is none."""
    for run_id in reversed(results.run_ids()):
        if describe_run(results, run_id).remaining:
            return run_id
    return None


def _groups(results: Results, plan: Plan) -> tuple[Group, ...]:
    kinds = ["outcome", "verdict", "reason"]
    table = results.table("verdicts", results.parts_of("verdicts", plan), [*kinds, "audio"])
    counted = table.group_by(kinds).aggregate([("audio", "count"), ("audio", "min")]).to_pylist()
    groups = (
        Group(
            outcome=row["outcome"],
            verdict=row["verdict"],
            reason=row["reason"],
            rows=row["audio_count"],
            example=row["audio_min"],
        )
        for row in counted
    )
    return tuple(sorted(groups, key=lambda group: (OUTCOMES.index(group.outcome), -group.rows, group.reason or "")))


def _leg_seen(legs: Legs, number: int) -> LegSeen:
    receipt = legs.receipt(number) or {}
    counts = receipt.get("counts")
    ended_by, why = receipt.get("ended_by"), receipt.get("why")
    return LegSeen(
        leg=number,
        ended_by=None if ended_by is None else str(ended_by),
        why=None if why is None else str(why),
        counts=counts if isinstance(counts, dict) else {},
    )


def _seconds(counts: dict[str, object]) -> float:
    began, ended = counts.get("started_at"), counts.get("finished_at")
    if began is None or ended is None:
        return 0.0
    return (datetime.fromisoformat(str(ended)) - datetime.fromisoformat(str(began))).total_seconds()
