"""Gather an overview from the stores of some accounts: their indexes of runs, open legs, coverage and probes."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import takewhile

from proofsweep.answers.describe_run import open_legs
from proofsweep.answers.overview.coverage import CatalogCoverage, coverage_of
from proofsweep.answers.overview.values import (
    CatalogLine,
    FlowSchedule,
    KeyLine,
    LegLine,
    MachineLine,
    Overview,
    UpcomingRun,
)
from proofsweep.endings import EndedBy
from proofsweep.model.progress import OpenLeg
from proofsweep.model.run_records import LegRecord, RunRecord
from proofsweep.model.runs import new_run_id
from proofsweep.store.listings import newest_listings
from proofsweep.store.plans_and_parts import Results
from proofsweep.store.probes import newest_quota
from proofsweep.store.rotations import Rotations
from proofsweep.store.run_index import IndexedRuns, RunIndex

# Keys that were used so long ago are of the past. Chosen: a quota is monthly.
_KEYS_OF = timedelta(days=35)
# The pace of a key is that of so many days. Chosen: each day of a week is in it once.
_PACE_OF = timedelta(days=7)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownAccount:
    """An account whose lines are shown; the label of its rows is its name where the config has no accounts."""

    name: str
    environment: str
    key_ends_at: datetime | None = None  # as a person has set it


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownStore:
    """A results store, and the accounts in it; without any, each environment that it has runs of."""

    results: Results
    accounts: Sequence[ShownAccount] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _StoreLines:
    """What one store shows."""

    catalogs: list[CatalogLine]
    legs: list[LegLine]
    keys: list[KeyLine]


def overview_of(
    stores: Iterable[ShownStore], now: datetime, ask_schedule: Callable[[], FlowSchedule | None] = lambda: None
) -> Overview:
    """Return how all accounts stand; ResultsError if a store cannot be read. The schedule is asked for last."""
    found = [_lines_of(store, now) for store in stores]
    schedule = ask_schedule()
    upcoming = () if schedule is None else schedule.upcoming
    legs = [line for lines in found for line in lines.legs]
    return Overview(
        at=now,
        catalogs=[replace(line, next_run=_next_run(line, upcoming)) for lines in found for line in lines.catalogs],
        legs=legs,
        keys=[line for lines in found for line in lines.keys],
        machines=[*_machines(legs), *_workers(schedule)],
        schedule=schedule,
    )


def _lines_of(store: ShownStore, now: datetime) -> _StoreLines:
    results = store.results
    index = RunIndex(results).refreshed()
    there = dict.fromkeys(run.plan.environment for run in index.newest_first())
    accounts = store.accounts or [ShownAccount(name=label, environment=label) for label in sorted(there)]
    names = {each.environment: each.name for each in accounts}
    legs = {leg.run_id: leg for leg in open_legs(results, index)}
    plans = {run_id: index.records[run_id].plan for run_id in legs}
    return _StoreLines(
        catalogs=[line for account in accounts for line in _catalogs(results, account, index, legs)],
        legs=[
            LegLine(account=names[plans[run_id].environment], catalog=plans[run_id].catalog, leg=leg)
            for run_id, leg in legs.items()
            if plans[run_id].environment in names
        ],
        keys=[line for account in accounts for line in _keys(results, account, index, legs, now)],
    )


def _catalogs(
    results: Results, account: ShownAccount, index: IndexedRuns, legs: dict[str, OpenLeg]
) -> Iterator[CatalogLine]:
    """Yield a line for each catalog that the account has a run of, by name."""
    runs = [run for run in index.newest_first() if run.plan.environment == account.environment]
    coverage = coverage_of(results, account.environment, index) if newest_listings(runs) else {}
    last: dict[str, RunRecord] = {}
    for run in runs:
        if not run.is_superseded:
            last.setdefault(run.plan.identity, run)
    for identity, run in sorted(last.items()):
        yield _catalog_line(account, run, coverage.get(identity), legs.get(run.plan.run_id))


def _catalog_line(
    account: ShownAccount, run: RunRecord, covered: CatalogCoverage | None, leg: OpenLeg | None
) -> CatalogLine:
    ended_by, at = _end_of(run, leg)
    line = CatalogLine(
        account=account.name,
        catalog=run.plan.catalog,
        last_run=run.plan.run_id,
        last_ended_by=ended_by,
        last_at=at,
    )
    if covered is None:
        return line
    return replace(
        line,
        files=covered.files,
        covered=covered.covered,
        rejected=covered.rejected,
        failed=covered.failed,
        ineligible=covered.ineligible,
        oldest_open_reject=covered.oldest,
    )


def _end_of(run: RunRecord, leg: OpenLeg | None) -> tuple[str, datetime]:
    """Say how the last leg of a run stands, and since when."""
    if leg is not None:
        return ("active", leg.since) if leg.is_alive else (str(EndedBy.KILLED), leg.beaten_at)
    if not run.legs:
        return "planned only", datetime.fromisoformat(run.plan.created_at)
    last = run.legs[-1]
    return str(last.receipt.get("ended_by")), _ended_at(last) or datetime.fromisoformat(run.plan.created_at)


def _next_run(line: CatalogLine, upcoming: Iterable[UpcomingRun]) -> datetime | None:
    """Return when the first flow run begins that names the catalog, for its account or for none in particular."""
    mine = (run for run in upcoming if run.names(line.catalog) and run.account in {None, line.account})
    return next((run.at for run in mine), None)


def _keys(
    results: Results, account: ShownAccount, index: IndexedRuns, legs: dict[str, OpenLeg], now: datetime
) -> list[KeyLine]:
    """Return a line for each key that the account has used of late, the one in use first."""
    oldest = new_run_id(now - _KEYS_OF, "")
    recent = takewhile(lambda run: run.plan.run_id >= oldest, index.newest_first())
    mine = [run for run in recent if run.plan.environment == account.environment]
    ended = sorted((leg for run in mine for leg in run.legs if _ended_at(leg)), key=_ended_at, reverse=True)  # type: ignore[arg-type]  # all have ended
    by_key: defaultdict[str, list[LegRecord]] = defaultdict(list)
    for leg in ended:
        by_key[str(leg.counts.get("key_fingerprint"))].append(leg)
    ends = {each.key_fingerprint: each.old_key_ends_at for each in Rotations(results).answered()}
    lines = [_key_line(account, key, own, ends.get(key), now) for key, own in by_key.items()]
    active = [legs[run.plan.run_id] for run in mine if run.plan.run_id in legs]
    return [_with_newest(lines[0], results, account, active, now), *lines[1:]] if lines else []


def _key_line(
    account: ShownAccount, key: str, legs: Sequence[LegRecord], ends_at: datetime | None, now: datetime
) -> KeyLine:
    """Read a key's line from the receipts of its legs, the newest first."""
    told = next((leg for leg in legs if isinstance(leg.counts.get("quota_after"), int)), None)
    week = [leg for leg in legs if (_ended_at(leg) or now) >= now - _PACE_OF]
    calls = sum(count for leg in week if isinstance(count := leg.counts.get("calls"), int))
    since = _ended_at(legs[-1]) or now
    days = min(_PACE_OF, max(timedelta(days=1), now - since)) / timedelta(days=1)
    return KeyLine(
        account=account.name,
        fingerprint=key,
        quota_left=None if told is None else _number(told.counts.get("quota_after")),
        as_of=None if told is None else _ended_at(told),
        resets_at=None if told is None else _instant(told.receipt.get("quota_reset")),
        calls_per_day=calls / days if week else None,
        ends_at=ends_at,
        lane_rate=next((rate for leg in legs if isinstance(rate := leg.counts.get("rate_learned"), float)), None),
    )


def _with_newest(
    line: KeyLine, results: Results, account: ShownAccount, legs: Sequence[OpenLeg], now: datetime
) -> KeyLine:
    """Take what was said of the key in use last: by an active leg, or to monitoring, which asks with it."""
    told = [(leg.beaten_at, leg.progress) for leg in legs if leg.is_alive and leg.progress is not None]
    for at, progress in sorted(told, key=lambda each: each[0]):
        if progress.quota_left is not None and (line.as_of is None or at > line.as_of):
            line = replace(line, quota_left=progress.quota_left, as_of=at)
        line = replace(line, lane_rate=progress.lane_rate or line.lane_rate)
    probe = newest_quota(results, account.environment, now.date())
    if probe is not None and (line.as_of is None or probe[0] > line.as_of):
        as_of, left, reset = probe
        line = replace(line, quota_left=left, as_of=as_of, resets_at=reset or line.resets_at)
    return replace(line, ends_at=account.key_ends_at or line.ends_at)


def _machines(legs: Iterable[LegLine]) -> Iterator[MachineLine]:
    """Yield each machine that has a leg without an end; a silent one may be down."""
    by_host: defaultdict[str, list[LegLine]] = defaultdict(list)
    for line in legs:
        by_host[line.leg.claim.host].append(line)
    for host, lines in sorted(by_host.items()):
        yield MachineLine(
            name=host,
            works_on=[f"{line.account}: {line.catalog}" for line in lines if line.leg.is_alive],
            beaten_at=max(line.leg.beaten_at for line in lines),
            is_silent=not any(line.leg.is_alive for line in lines),
        )


def _workers(schedule: FlowSchedule | None) -> Iterator[MachineLine]:
    for worker in () if schedule is None else schedule.workers:
        yield MachineLine(name=f"{worker.name} (worker of {worker.pool})", works_on=[], beaten_at=worker.beaten_at)


def _ended_at(leg: LegRecord) -> datetime | None:
    return _instant(leg.counts.get("finished_at"))


def _instant(text: object) -> datetime | None:
    return None if text is None else datetime.fromisoformat(str(text))


def _number(found: object) -> int | None:
    return found if isinstance(found, int) else None
