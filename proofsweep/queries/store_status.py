"""How a results store stands: its catalogs, the runs that are active, and what is left of each quota."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date, datetime
from typing import Any

from proofsweep.domain.endings import EndedBy
from proofsweep.queries.connection import answering
from proofsweep.queries.status import how_it_ended, legs_of_store
from proofsweep.store.journal import unpublished
from proofsweep.store.latest import why_behind
from proofsweep.store.lease import OpenTerm
from proofsweep.store.parts import Results
from proofsweep.store.probes import newest_quota
from proofsweep.store.runs import RunIndex, RunRecord

_COUNTS = "files, covered, accepted, rejected, failed, ineligible, files - covered AS remaining, oldest_open_reject"


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogStatus:
    """How a catalog stands. Counts are those of the view `coverage`; None for a folder that is never listed whole."""

    environment: str
    catalog: str
    files: int | None = None
    covered: int | None = None
    accepted: int | None = None
    rejected: int | None = None
    failed: int | None = None
    ineligible: int | None = None
    remaining: int | None = None  # files without an answer for the version that is listed
    oldest_open_reject: datetime | None = None  # when the oldest answer came of the files that are rejected now
    last_run: str  # the newest one that was not superseded
    ended_by: str  # how its last leg ended; `active`, `killed` or `planned only` if it has not
    last_at: datetime
    unpublished: int = 0  # finished rows of that run that only a killed leg's journal has: resuming it publishes them


@dataclass(frozen=True, slots=True, kw_only=True)
class ActiveRun:
    environment: str
    catalog: str
    leg: OpenTerm


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaStatus:
    environment: str
    left: int  # calls, as the service said at `as_of`
    as_of: datetime
    resets_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreStatus:
    at: datetime
    catalogs: Sequence[CatalogStatus]
    active: Sequence[ActiveRun]
    quotas: Sequence[QuotaStatus]
    note: str | None = None  # what an operator should do for the store

    def document(self) -> dict[str, object]:
        return {
            "at": self.at.isoformat(timespec="seconds"),
            "catalogs": [_texts(asdict(each)) for each in self.catalogs],
            "active": [
                {"environment": each.environment, "catalog": each.catalog, **each.leg.document()}
                for each in self.active
            ],
            "quotas": [_texts(asdict(each)) for each in self.quotas],
        }


def store_status(results: Results, now: datetime) -> StoreStatus:
    """Read how a store stands; it makes no call to a service. ResultsError if the store cannot be read."""
    index = RunIndex(results).refreshed()
    runs = [run for run in index.newest_first() if not run.is_superseded]
    legs: dict[str, list[OpenTerm]] = {}
    for leg in legs_of_store(results, index):
        legs.setdefault(leg.run_id, []).append(leg)
    environments = sorted({run.plan.environment for run in runs})
    quotas = (
        _quota_of(results, name, [run for run in runs if run.plan.environment == name], legs, now)
        for name in environments
    )
    return StoreStatus(
        at=now,
        catalogs=list(_catalogs_of(results, environments, runs, legs)),
        active=[
            ActiveRun(environment=run.plan.environment, catalog=run.plan.catalog, leg=leg)
            for run in runs
            for leg in legs.get(run.plan.run_id, [])
            if leg.is_alive
        ],
        quotas=[quota for quota in quotas if quota is not None],
        note=why_behind(results.store, index),
    )


def _catalogs_of(
    results: Results, environments: Sequence[str], runs: Sequence[RunRecord], legs: Mapping[str, Sequence[OpenTerm]]
) -> Iterator[CatalogStatus]:
    identities = {run.plan.run_id: run.plan.identity for run in runs}
    for environment in environments:
        counts = {identities.get(run_id): row for run_id, row in _counts_of(results, environment).items()}
        last: dict[str, RunRecord] = {}
        for run in runs:
            if run.plan.environment == environment:
                last.setdefault(run.plan.identity, run)
        for identity, run in sorted(last.items()):
            opened = legs.get(run.plan.run_id, [])
            ended_by, at = _end_of(run, opened)
            yield CatalogStatus(
                environment=environment,
                catalog=run.plan.catalog,
                last_run=run.plan.run_id,
                ended_by=ended_by,
                last_at=at,
                unpublished=sum(
                    table.num_rows
                    for leg in opened
                    if not leg.is_alive
                    for table in unpublished(results, run.plan, leg.leg, "verdicts", ["outcome"])
                ),
                **counts.get(identity, {}),
            )


def _counts_of(results: Results, environment: str) -> dict[str, dict[str, Any]]:
    with answering(results, environment, "coverage") as connection:
        found = connection.sql(f"SELECT newest_run_id, {_COUNTS} FROM coverage")  # noqa: S608 - our own names
        _, *columns = found.columns
        return {run_id: dict(zip(columns, row, strict=True)) for run_id, *row in found.fetchall()}


def _end_of(run: RunRecord, legs: Sequence[OpenTerm]) -> tuple[str, datetime]:
    if alive := [leg.since for leg in legs if leg.is_alive]:
        return "active", min(alive)
    if legs:
        return str(EndedBy.KILLED), max(leg.beaten_at for leg in legs)
    ended_by = how_it_ended(run.plan, ((leg.leg, leg.ended_by) for leg in run.legs))
    ends = [leg.finished_at for leg in run.legs if leg.finished_at is not None]
    return ended_by or "planned only", max(ends, default=datetime.fromisoformat(run.plan.created_at))


def _quota_of(
    results: Results, environment: str, runs: Sequence[RunRecord], legs: Mapping[str, Sequence[OpenTerm]], now: datetime
) -> QuotaStatus | None:
    """Return what was said last: in a receipt, in the heartbeat of an active leg, or in a probe."""
    told = [
        (at, left, leg.quota_reset)
        for run in runs
        for leg in run.legs
        if (at := leg.finished_at) and isinstance(left := leg.counts.get("quota_after"), int)
    ]
    resets_at = max(told, key=lambda each: each[0])[2] if told else None
    told += [
        (leg.beaten_at, leg.progress.quota_left, resets_at)
        for run in runs
        for leg in legs.get(run.plan.run_id, [])
        if leg.is_alive and leg.progress and leg.progress.quota_left is not None
    ]
    told += [probe] if (probe := newest_quota(results, environment, now.date())) else []
    if not told:
        return None
    as_of, left, resets_at = max(told, key=lambda each: each[0])
    return QuotaStatus(environment=environment, left=left, as_of=as_of, resets_at=resets_at)


def _texts(cells: dict[str, Any]) -> dict[str, object]:
    return {name: cell.isoformat() if isinstance(cell, date) else cell for name, cell in cells.items()}
