"""What alerts are decided by, read from the store: the legs of the last weeks, the last probes, the end of a run."""

import socket
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from itertools import takewhile

from proofsweep.alerts.rules import (
    ALERTED_STATES,
    CRASHED,
    FLOW_OF_OPERATION,
    KEY_REFUSED,
    QUOTA_SPENT,
    About,
    Alert,
    FlowEnd,
    ProbeFacts,
    WorkFacts,
    alerts_of_end,
    cause_of,
    did_its_work,
    harmless,
    key_expires,
    over_after_end,
    quoted,
    rotated_key_ends,
    shortened,
    state_of_ending,
    state_of_run,
    sunset_seen,
)
from proofsweep.alerts.send import Gather
from proofsweep.domain.endings import EndedBy
from proofsweep.domain.runs import OUTCOMES, Claim, new_run_id
from proofsweep.domain.text import minute_of
from proofsweep.ingest.rules import PassReport
from proofsweep.queries.status import RunStatus
from proofsweep.reports.run import advice_for, ending_of, label_of
from proofsweep.store import layout
from proofsweep.store.keys import Rotations
from proofsweep.store.lease import Lease
from proofsweep.store.legs import Legs
from proofsweep.store.operations import Operations
from proofsweep.store.parts import Results
from proofsweep.store.probes import read_probes
from proofsweep.store.runs import LegRecord, RunIndex, RunRecord

LOOK_BACK = timedelta(days=35)  # a month's quota is spent over at most 31 nights


def with_its_key(results: Results, environment: str, state: str, now: datetime, own: str | None) -> list[str]:
    """Name the catalogs and folders that an end stops, if its cause is the key's: its own, and those of late runs."""
    if state not in {KEY_REFUSED, QUOTA_SPENT}:
        return []
    runs = recent_runs(results, now - LOOK_BACK)
    named = [] if own is None else [own.rstrip("/")]
    return named + sorted({run.plan.catalog for run in runs if run.plan.environment == environment} - {*named})


def recent_runs(results: Results, since: datetime) -> Iterator[RunRecord]:
    oldest = new_run_id(since, "")
    return takewhile(lambda run: run.plan.run_id >= oldest, RunIndex(results).refreshed().newest_first())


def work_facts(
    results: Results, environment: str, catalog: str | None, *, since: datetime, enough: datetime
) -> WorkFacts:
    """Find the last leg that did its work, in runs planned since an instant; one that ended `enough` late will do."""
    ends: list[datetime] = []
    first_run: datetime | None = None
    for run in recent_runs(results, since):
        if run.plan.environment != environment or catalog not in {None, run.plan.catalog}:
            continue
        first_run = datetime.fromisoformat(run.plan.created_at)
        ends += [ended for leg in run.legs if _did_its_work(leg) and (ended := _instant(leg.counts.get("finished_at")))]
        if ends and max(ends) >= enough:
            break
    about = About(catalog=catalog, results_url=results.store.url)
    return WorkFacts(environment, about, max(ends, default=None), first_run)


def _did_its_work(leg: LegRecord) -> bool:
    accepted, rejected, failed, ineligible = (_count(leg, outcome) for outcome in OUTCOMES)
    have_all_failed = failed > 0 and not accepted + rejected
    finished = accepted + rejected + failed + ineligible
    return did_its_work(str(leg.receipt.get("ended_by")), finished, have_all_failed=have_all_failed)


def _count(leg: LegRecord, column: str) -> int:
    found = leg.counts.get(column)
    return found if isinstance(found, int) else 0


def _instant(text: object) -> datetime | None:
    return None if text is None else datetime.fromisoformat(str(text))


def killed_work(results: Results, environment: str, since: datetime) -> Iterator[FlowEnd]:
    operations, url = Operations(results), results.store.url
    read = map(operations.operation, operations.ids(new_run_id(since, "")))
    newest = {each.kind: each for each in read if each is not None and each.environment == environment}
    for each in newest.values():
        lease = operations.lease(each.operation_id)
        if operations.receipt(each.operation_id) is None and _was_killed(lease):
            about = About(machine=_host(lease.holder(lease.last())), results_url=url)
            began = f"The {each.kind} of {minute_of(each.started_at)} has no end."
            yield FlowEnd(environment, FLOW_OF_OPERATION[each.kind], CRASHED, about, [began])
    leases = Results(results.store.within(layout.INGEST_FOLDER))
    for lease in (Lease(leases, watch) for watch in leases.store.folders("_runs")):
        claim = lease.holder(lease.last())
        if claim is not None and claim.facts.get("environment") == environment and _was_killed(lease):
            about = About(catalog=str(claim.facts.get("folder")), machine=claim.host, results_url=url)
            began = f"The pass of {minute_of(claim.claimed.at)} has no end."
            yield FlowEnd(environment, "check-ingest", CRASHED, about, [began])


def _host(claim: Claim | None) -> str | None:
    return None if claim is None else claim.host


def _was_killed(lease: Lease) -> bool:
    last = lease.last()
    return last > 0 and lease.receipt(last) is None and not lease.is_alive(last)


_MOST_PASSES = 12
_GREATEST_AGE = timedelta(hours=12)  # of these passes
_FACTS = [field.name for field in fields(ProbeFacts)]


def recent_probes(results: Results, environment: str, now: datetime) -> list[ProbeFacts]:
    """Return the last probes of an environment, the oldest first; ResultsError if the store cannot be read."""
    oldest = now - _GREATEST_AGE
    days = sorted({oldest.date(), now.date()})
    rows = read_probes(results, ["environment", "operation_id", *_FACTS], days).sort_by("operation_id").to_pylist()
    mine = [row for row in rows if row.pop("environment") == environment and row["started_at"] >= oldest]
    last = set(sorted({row["operation_id"] for row in mine})[-_MOST_PASSES:])
    facts = [ProbeFacts(**row) for row in mine if row.pop("operation_id") in last]
    return sorted(facts, key=lambda probe: probe.started_at)


def head_after(results: Results, run: RunStatus) -> str | None:
    """Return the hex sha256 of the receipt of a run's last leg, which holds all earlier receipts; None without one."""
    return Legs(results, run.plan.run_id).receipt_digest(run.legs[-1].leg) if run.legs else None


def end_of_run(results: Results, run: RunStatus, now: datetime, *, tries_left: bool = False) -> FlowEnd:
    items, remaining, failed, head = run.plan.items, run.remaining, run.rows("failed"), head_after(results, run)
    holder = Legs(results, run.plan.run_id).holder(run.legs[-1].leg)
    but = "" if run.answered else ", and none was answered"
    some_failed = f"{failed:,} of {items:,} rows failed{but}" if failed else None
    said = [] if run.why is None else [f"It said: {quoted(run.why)}"]
    kinds = [f"- {group.rows:,} {quoted(label_of(group))}: {advice_for(group)}" for group in run.groups]
    counts = f"{items - remaining:,} of {items:,} rows have their outcome{':' if kinds else '.'}"
    heads = [] if head is None else [f"Head of the records: `{head}`"]
    url, catalog = results.store.url, run.plan.catalog
    state = state_of_run(run.ended_by or EndedBy.KILLED, is_over=run.is_over, failed=failed, answered=run.answered)
    return FlowEnd(
        run.plan.environment,
        "verify-catalog",
        state,
        about=About(catalog=catalog, machine=_host(holder), rows=remaining or failed, results_url=url),
        title=f"{remaining:,} of {items:,} rows remain" if remaining else some_failed,
        with_its_key=with_its_key(results, run.plan.environment, state, now, catalog),
        details=[f"Run `{run.plan.run_id}`: {harmless(ending_of(run))}.", *said, counts, *shortened(kinds), *heads],
        tries_left=tries_left,
    )


def alerts_of_run(end: FlowEnd, run: RunStatus) -> list[Alert]:
    return [*alerts_of_end(end), *sunset_seen(run.sunset, end.environment, replace(end.about, rows=None))]


OUTAGE = state_of_ending(EndedBy.BREAKER)


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertScope:
    results: Results
    environment: str
    base_url: str
    key_expires_at: datetime | None
    no_success_hours: float
    low_quota_percent: float
    clock: Callable[[], datetime]


def end_of_leg(scope: AlertScope, run: RunStatus, *, tries_left: bool = False) -> Gather:
    def gather() -> tuple[list[Alert], list[str]]:
        end = end_of_run(scope.results, run, scope.clock(), tries_left=tries_left)
        in_use = str(run.legs[-1].counts.get("key_fingerprint"))
        return [*alerts_of_run(end, run), *alerts_of_key(scope, in_use, scope.clock())], over_after_end(end)

    return gather


def end_of_flow(
    scope: AlertScope,
    flow: str,
    state: str,
    message: str,
    *,
    catalog: str | None = None,
    away: str | None = None,
    tries_left: bool = False,
) -> Gather:
    """Tell of a flow run's end; a catalog that is `away` is a cause of its own, and shows no other one to be over."""
    about, title = replace(_here(scope), catalog=away), None if away is None else "the catalog cannot be read"

    def gather() -> tuple[list[Alert], list[str]]:
        others = with_its_key(scope.results, scope.environment, state, scope.clock(), catalog)
        details = [f"It said: {quoted(message)}"]
        end = FlowEnd(scope.environment, flow, state, about, details, title, others, tries_left)
        own = () if catalog is None else (catalog.rstrip("/"),)  # instead of the flow, if several have the cause
        alerts = [replace(each, subjects=own) if own and each.subjects else each for each in alerts_of_end(end)]
        return alerts, over_after_end(end) if away is None else []

    return gather


def catalog_is_back(scope: AlertScope, catalog: str) -> Gather:
    """Show that a catalog can be read, of which nothing is due: it is not away any more."""
    return lambda: ([], [cause_of(ALERTED_STATES[OUTAGE], scope.environment, catalog, OUTAGE)])


def end_of_pass(scope: AlertScope, watched: str, report: PassReport, *, tries_left: bool = False) -> Gather:
    unmoved = Counter(str(row["detail"]) for row in report.not_moved)
    lines = [f"- {count:,}: {quoted(reason)}" for reason, count in unmoved.items()]
    end = FlowEnd(
        scope.environment,
        "check-ingest",
        "NotMoved" if unmoved else "Completed",
        about=replace(_here(scope), catalog=watched, rows=unmoved.total()),
        details=[f"They lie in {quoted(watched)} still:", *shortened(lines)],
        title=f"verified files that are not moved: {unmoved.total():,}",
        tries_left=tries_left,
    )
    over = over_after_end(end) if report.is_whole and not unmoved else []
    return lambda: (alerts_of_end(end), over)


def _here(scope: AlertScope) -> About:
    return About(machine=socket.gethostname(), results_url=scope.results.store.url)


def alerts_of_key(scope: AlertScope, key_in_use: str | None, now: datetime) -> list[Alert]:
    own = (each for each in Rotations(Operations(scope.results)).answered() if each.environment == scope.environment)
    found = [rotated_key_ends(rotation, key_in_use, now) for rotation in own]
    found.append(key_expires(scope.environment, scope.key_expires_at, now))
    return [alert for alert in found if alert is not None]
