"""How a results store stands: its catalogs, the runs that are active, and what is left of each quota."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime

from proofsweep.config.notices import say
from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import ResultsError
from proofsweep.domain.runs import Plan
from proofsweep.queries.connection import answering, tables_of
from proofsweep.queries.status import describe_run, how_it_ended, legs_of_store
from proofsweep.queries.views import with_views
from proofsweep.store.heartbeat import OpenLeg
from proofsweep.store.objects import damage_named
from proofsweep.store.operations import newest_probes
from proofsweep.store.parts import Results
from proofsweep.store.runs import RunRecord

_COUNTS = ("files", "covered", "accepted", "rejected", "failed", "ineligible", "remaining")
_COVERAGE = """
    SELECT
        coverage.environment, plans.identity, files, covered, accepted, rejected, coverage.failed, ineligible,
        files - covered
    FROM coverage JOIN store.plans AS plans ON plans.run_id = newest_run_id
"""

# What the newest lists of catalogs have that are retired, and no list that counts: it is in no count above.
_RETIRED = """
    SELECT plans.environment, arg_max(plans.catalog, plans.run_id), count(DISTINCT own.item_id)
    FROM store.plans AS plans
    LEFT JOIN (
        FROM store.retired_listing JOIN store.retired_listings USING (run_id)
        ANTI JOIN (FROM store.listing JOIN store.listings USING (run_id)) AS listed USING (environment, item_id)
    ) AS own USING (run_id)
    GROUP BY plans.environment, plans.identity
    HAVING bool_and(is_retired)
    ORDER BY ALL
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetiredCatalog:
    environment: str
    catalog: str
    files: int  # that no catalog lists which counts


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogStatus:
    """How a catalog stands."""

    environment: str
    catalog: str
    counts: Mapping[str, int]  # some of the view `coverage`; none for a folder that is never listed whole
    last_run: str  # the newest one that was not superseded
    ended_by: str  # how its last leg ended; `active`, `killed` or `planned only` if it has not
    last_at: datetime
    run_items: int  # rows of the last run
    run_remaining: int | None  # those of them without an outcome; None while a process works on it, or if damaged

    def document(self) -> dict[str, object]:
        document: dict[str, object] = {"environment": self.environment, "catalog": self.catalog}
        document |= dict.fromkeys(_COUNTS)  # a folder that is never listed whole has them too, as null
        document |= self.counts
        for name in ("last_run", "ended_by", "last_at", "run_items", "run_remaining"):
            document[name] = getattr(self, name)
        return document


@dataclass(frozen=True, slots=True)
class QuotaStatus:
    environment: str
    left: int  # calls, as the service said at `as_of`
    as_of: datetime
    resets_at: datetime | None = None
    sunset: str | None = None  # the header that announces a breaking change


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreStatus:
    at: datetime
    catalogs: Sequence[CatalogStatus]
    active: Sequence[tuple[Plan, OpenLeg]]
    quotas: Sequence[QuotaStatus]
    retired: Sequence[RetiredCatalog] = ()

    def document(self) -> dict[str, object]:
        active: list[dict[str, object]] = []
        for plan, leg in self.active:
            of_plan = {"environment": plan.environment, "catalog": plan.catalog}
            active.append(of_plan | leg.document())
        document: dict[str, object] = {"at": self.at.isoformat(timespec="seconds")}
        document["catalogs"] = [catalog.document() for catalog in self.catalogs]
        document["active"] = active
        document["quotas"] = list(map(asdict, self.quotas))
        document["retired"] = list(map(asdict, self.retired))
        return document


def store_status(results: Results, now: datetime) -> StoreStatus:
    """Read how a store stands; it makes no call to a service. ResultsError if the store cannot be read."""
    index = results.log.runs()
    runs = [run for run in index.counted_first() if not run.is_superseded]
    legs: dict[str, list[OpenLeg]] = {}
    for leg in legs_of_store(results, index):
        legs.setdefault(leg.run_id, []).append(leg)
    active: list[tuple[Plan, OpenLeg]] = []
    newest: dict[tuple[str, str], RunRecord] = {}
    named: set[str] = set()
    for run in runs:
        plan = run.plan
        named.add(plan.environment)
        # The first of a catalog's runs is the one that counts, so it is kept.
        newest.setdefault((plan.environment, plan.identity), run)
        active.extend((plan, leg) for leg in legs.get(plan.run_id, []) if leg.is_alive)
    environments = sorted(named)
    counts = _counts_of(results, environments)
    catalogs: list[CatalogStatus] = []
    for key, run in sorted(newest.items()):
        legs_of_run = legs.get(run.plan.run_id, [])
        counts_of_run = counts.get(key, {})
        catalog = _catalog_of(results, run, legs_of_run, counts_of_run)
        catalogs.append(catalog)
    quotas: list[QuotaStatus] = []
    for environment in environments:
        quota = _quota_of(results, environment, runs, active)
        if quota is not None:
            quotas.append(quota)
    retired: list[RetiredCatalog] = []
    if index.retired:
        retired = _retired(results)
    return StoreStatus(at=now, catalogs=catalogs, active=active, quotas=quotas, retired=retired)


def _retired(results: Results) -> list[RetiredCatalog]:
    with tables_of(results, _RETIRED) as connection:
        found = connection.execute(_RETIRED).fetchall()
        return [RetiredCatalog(environment=name, catalog=catalog, files=files) for name, catalog, files in found]


def _counts_of(results: Results, environments: Sequence[str]) -> dict[tuple[str, str], dict[str, int]]:
    """Count each catalog by its environment and identity; a run may have begun since the runs were read."""
    if not environments:
        return {}
    query = with_views("coverage") + _COVERAGE
    try:
        with answering(results, environments, "coverage") as connection:
            rows = connection.execute(query).fetchall()
    except ResultsError as error:
        if error.is_outage:
            raise
        # Counts without the rows of a damaged part would call its files unanswered. What is active stays known.
        say(f"No catalog is counted: {error.message}")
        return {}
    counts: dict[tuple[str, str], dict[str, int]] = {}
    for environment, identity, *numbers in rows:
        named = zip(_COUNTS, numbers, strict=True)
        counts[environment, identity] = dict(named)
    return counts


def _catalog_of(results: Results, run: RunRecord, legs: Sequence[OpenLeg], counts: Mapping[str, int]) -> CatalogStatus:
    ended_by, at = _end_of(run, legs)
    plan = run.plan
    if any(leg.is_alive for leg in legs):
        remaining = None
    elif run.is_over:
        remaining = 0
    else:
        # The receipts say that a run is over. Of any other one the rows themselves are counted, as an alert does.
        remaining = _remaining(results, plan)
    return CatalogStatus(
        environment=plan.environment,
        catalog=plan.catalog,
        counts=counts,
        last_run=plan.run_id,
        ended_by=ended_by,
        last_at=at,
        run_items=plan.items,
        run_remaining=remaining,
    )


def _remaining(results: Results, plan: Plan) -> int | None:
    """Count what remains of a run; None if its rows are damaged, which hinders no other catalog."""
    with damage_named():
        return describe_run(results, plan.run_id).remaining
    return None


def _end_of(run: RunRecord, legs: Sequence[OpenLeg]) -> tuple[str, datetime]:
    # An open leg comes before the ended ones: a run that was killed after a good leg was still killed.
    alive = [leg.holder.taken_at for leg in legs if leg.is_alive]
    if alive:
        return "active", min(alive)
    if legs:
        last_sign = max(leg.beaten_at for leg in legs)
        return str(EndedBy.KILLED), last_sign
    ended_by = how_it_ended(run.plan, run.legs) or "planned only"
    planned_at = datetime.fromisoformat(run.plan.created_at)
    ends = [leg.finished_at for leg in run.legs if leg.finished_at is not None]
    return ended_by, max(ends, default=planned_at)


def _quota_of(
    results: Results, environment: str, runs: Sequence[RunRecord], active: Sequence[tuple[Plan, OpenLeg]]
) -> QuotaStatus | None:
    """Return what the service said last: in a receipt, to monitoring, or in the heartbeat of an active leg.

    A change is announced with the answers that it affects: what runs are told may not be told to monitoring.
    """
    of_legs: list[QuotaStatus] = []
    for run in runs:
        if run.plan.environment == environment:
            of_legs += _quotas_of_legs(run)
    last = _last_of(of_legs)
    # Monitoring writes a table a day: those before the last leg's end say nothing newer, and are not read.
    since = None
    if last:
        since = last[0].as_of.date()
    of_probes: list[QuotaStatus] = []
    with damage_named():
        for probe in newest_probes(results, environment, since):
            quota = QuotaStatus(environment, probe.rate_remaining, probe.started_at, probe.rate_reset, probe.sunset)
            of_probes.append(quota)
    last += _last_of(of_probes)
    of_beats: list[QuotaStatus] = []
    for plan, leg in active:
        progress = leg.progress
        if plan.environment == environment and progress and progress.quota_left is not None:
            quota = QuotaStatus(environment, progress.quota_left, leg.beaten_at)
            of_beats.append(quota)
    last += _last_of(of_beats)
    if not last:
        return None
    newest = max(last, key=_when)
    for quota in last:
        if quota.sunset:
            return replace(newest, sunset=quota.sunset)
    return replace(newest, sunset=None)


def _quotas_of_legs(run: RunRecord) -> Iterator[QuotaStatus]:
    for leg in run.legs:
        left = leg.counts.get("quota_after")
        if leg.finished_at is None or not isinstance(left, int):
            continue
        sunset = None
        header = leg.counts.get("sunset")
        if header is not None:
            sunset = str(header)
        yield QuotaStatus(run.plan.environment, left, leg.finished_at, leg.quota_reset, sunset)


def _last_of(quotas: Iterable[QuotaStatus]) -> list[QuotaStatus]:
    """Return the newest one; none of none."""
    in_order = sorted(quotas, key=_when, reverse=True)
    return in_order[:1]


def _when(quota: QuotaStatus) -> datetime:
    return quota.as_of
