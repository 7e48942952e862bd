"""What the legs of the last weeks did: the end of the last that did its work, and the calls of one day."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from itertools import takewhile

import pyarrow.compute as pc

from proofsweep.domain import layout
from proofsweep.domain.alerts.of_nights import NightFacts, did_its_work
from proofsweep.domain.exchanges import Call, Failure
from proofsweep.domain.run_records import RunRecord
from proofsweep.domain.runs import EndedBy, Plan, new_run_id
from proofsweep.storage.results.legs import Legs
from proofsweep.storage.results.operations import Operations
from proofsweep.storage.results.plans_and_parts import Results
from proofsweep.storage.results.probes import read_probes
from proofsweep.storage.results.run_index import RunIndex

_KEYED = [str(call) for call in Call if call.is_keyed]
_OUTCOMES = ("accepted", "rejected", "failed", "ineligible")


@dataclass(frozen=True, slots=True)
class PastLeg:
    """One leg by its receipt; without one it still works, or was killed, and `counts` is empty."""

    plan: Plan
    leg: int
    ended_by: str | None
    counts: Mapping[str, object]

    @property
    def began(self) -> datetime | None:
        """When it began; None if it is not known."""
        return _instant(self.counts.get("started_at"))

    @property
    def ended(self) -> datetime | None:
        """When it ended; None if it is not known."""
        return _instant(self.counts.get("finished_at"))

    @property
    def did_its_work(self) -> bool:
        """Say whether it did what it was to do."""
        accepted, rejected, failed, ineligible = map(self.count, _OUTCOMES)
        have_all_failed = failed > 0 and not accepted + rejected
        return did_its_work(self.ended_by, accepted + rejected + failed + ineligible, have_all_failed=have_all_failed)

    @property
    def is_whole(self) -> bool:
        """Say whether it left no row of its run, so that the run's many parts need not be read."""
        return self.ended_by == EndedBy.COMPLETE

    @property
    def line(self) -> str:
        """Say how it ended, and how many rows have which outcome."""
        counts = ", ".join(f"{self.count(outcome):,} {outcome}" for outcome in _OUTCOMES if self.count(outcome))
        return f"run {self.plan.run_id}, leg {self.leg}, ended by {self.ended_by}: {counts or 'no row'}"

    def count(self, column: str) -> int:
        """Give a count of the `runs` table; 0 if it is not known."""
        found = self.counts.get(column)
        return found if isinstance(found, int) else 0


def recent_runs(results: Results, since: datetime) -> Iterator[RunRecord]:
    """Give the runs that were planned since an instant, the newest first, from the index of runs."""
    oldest = new_run_id(since, "")
    return takewhile(lambda run: run.plan.run_id >= oldest, RunIndex(results).refreshed().newest_first())


def legs_of(results: Results, run: RunRecord) -> list[PastLeg]:
    """Give the legs of a run: from the index if it is over, else from the run, since one may be at work."""
    if run.legs and run.is_over:
        return [_past_leg(run.plan, leg.leg, leg.receipt) for leg in run.legs]
    legs = Legs(results, run.plan.run_id)
    return [_past_leg(run.plan, number, legs.receipt(number) or {}) for number in legs.numbers()]


def newest_leg(results: Results, environment: str, since: datetime) -> PastLeg | None:
    """Find the leg that ended last, in the runs of an environment that were planned since an instant."""
    runs = (run for run in recent_runs(results, since) if run.plan.environment == environment)
    legs = (_past_leg(run.plan, leg.leg, leg.receipt) for run in runs for leg in run.legs)
    return max((leg for leg in legs if leg.ended is not None), key=lambda leg: (leg.ended, leg.leg), default=None)


def night_facts(
    results: Results, environment: str, catalog: str | None, *, since: datetime, enough: datetime
) -> NightFacts:
    """Find the last leg that did its work, in the runs planned since an instant; one that ended `enough` late will do.

    Args:
        results: where the runs are.
        environment: the service's label.
        catalog: location as the plans have it; None for every catalog.
        since: older runs are not read.
        enough: no later end is looked for once one after this instant is found.
    """
    ends: list[datetime] = []
    first_run: datetime | None = None
    for run in recent_runs(results, since):
        if run.plan.environment != environment or catalog not in {None, run.plan.catalog}:
            continue
        first_run = datetime.fromisoformat(run.plan.created_at)
        ends += [leg.ended for leg in legs_of(results, run) if leg.did_its_work and leg.ended is not None]
        if ends and max(ends) >= enough:
            break
    return NightFacts(
        environment=environment,
        results_url=results.store.url,
        catalog=catalog,
        last_success=max(ends, default=None),
        first_run=first_run,
    )


def calls_of_day(results: Results, base_url: str, day: date, since: datetime) -> int | None:
    """Count the keyed calls of a UTC day to a service: those of operations, and of the runs planned since an instant.

    None as long as a leg of these runs has no receipt: its calls are in no table yet.
    """
    begin = datetime.combine(day, time(), UTC)
    calls = _calls_of_operations(results, base_url, begin) + _calls_of_monitoring(results, base_url, day)
    for run in recent_runs(results, since):
        began = datetime.fromisoformat(run.plan.created_at)
        if run.plan.base_url != base_url or began >= begin + timedelta(days=1):
            continue
        for leg in legs_of(results, run):
            if leg.ended_by is None:
                return None
            calls += _calls_between(results, leg, begin, begin + timedelta(days=1))
    return calls


def _calls_of_operations(results: Results, base_url: str, begin: datetime) -> int:
    """Count by the receipts of the operations that began on a day or the day before; one without a receipt has none."""
    operations, day = Operations(results), timedelta(days=1)
    calls = 0
    for operation_id in takewhile(
        lambda each: each < new_run_id(begin + day, ""), operations.ids(new_run_id(begin - day, ""))
    ):
        receipt = operations.receipt(operation_id) or {}
        by_day = receipt.get("calls_by_day")
        if receipt.get("base_url") == base_url and isinstance(by_day, dict):
            calls += by_day.get(begin.date().isoformat(), 0)
    return calls


def _calls_of_monitoring(results: Results, base_url: str, day: date) -> int:
    """Count the keyed probes of a day that were sent."""
    probes = read_probes(results, ["call", "base_url", "failure"], [day])
    is_sent = pc.field("failure").is_null() | (pc.field("failure") != Failure.CONNECTION)
    keyed = pc.field("call").isin(_KEYED) & (pc.field("base_url") == base_url)
    return int(probes.filter(keyed & is_sent).num_rows)


def _calls_between(results: Results, leg: PastLeg, begin: datetime, end: datetime) -> int:
    """Take the count of a leg that lies in a time span; read the exchanges of one that crosses its begin or end."""
    if leg.began is None or leg.ended is None or leg.ended < begin or leg.began >= end:
        return 0
    if leg.began >= begin and leg.ended < end:
        return leg.count("calls")
    names = [name for name in results.parts_of("exchanges", leg.plan) if layout.leg_of(name) == leg.leg]
    charged = pc.field("call").isin(_KEYED) & pc.field("bytes_sent").is_valid()
    within = (pc.field("started_at") >= begin) & (pc.field("started_at") < end)
    parts = (results.table("exchanges", [name], ["call", "bytes_sent", "started_at"]) for name in names)
    return sum(part.filter(charged & within).num_rows for part in parts)


def _past_leg(plan: Plan, number: int, receipt: Mapping[str, object]) -> PastLeg:
    ended_by, counts = receipt.get("ended_by"), receipt.get("counts")
    return PastLeg(
        plan, number, None if ended_by is None else str(ended_by), counts if isinstance(counts, Mapping) else {}
    )


def _instant(text: object) -> datetime | None:
    return None if text is None else datetime.fromisoformat(str(text))
