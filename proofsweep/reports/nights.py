"""The nights of a catalog, by its runs: what each did."""

from dataclasses import dataclass
from datetime import UTC, datetime

from proofsweep.domain.runs import OUTCOMES
from proofsweep.queries.run_status import RunStatus
from proofsweep.queries.status import newest_runs
from proofsweep.reports.run import ending_of
from proofsweep.store.parts import Results

MOST_NIGHTS = 31  # of a trend


@dataclass(frozen=True, slots=True, kw_only=True)
class NightResult:
    run_id: str
    identity: str  # of its catalog
    began: datetime
    ending: str  # how it ended, in words
    accepted: int
    rejected: int
    failed: int
    ineligible: int
    remaining: int
    answered_percent: float | None = None  # of the files of today, when it ended
    calls: int
    seconds: float

    @property
    def checked(self) -> int:
        return self.accepted + self.rejected + self.failed + self.ineligible

    @property
    def minutes(self) -> float:
        return self.seconds / 60


def nights_of(results: Results, environment: str, catalog: str | None) -> list[NightResult]:
    """Read the newest nights of a catalog, or of all of an environment, the oldest first; it opens no table."""
    found = newest_runs(
        results,
        MOST_NIGHTS,
        lambda plan: plan.environment == environment and catalog in {None, plan.catalog, plan.identity},
    )
    return [_night_of(run) for run in reversed(found) if run.legs]


def _night_of(run: RunStatus) -> NightResult:
    return NightResult(
        run_id=run.plan.run_id,
        identity=run.plan.identity,
        began=datetime.fromisoformat(run.plan.created_at).astimezone(UTC),
        ending=ending_of(run),
        **{outcome: run.rows(outcome) for outcome in OUTCOMES},
        remaining=run.remaining,
        calls=run.total("calls"),
        seconds=run.seconds,
    )
