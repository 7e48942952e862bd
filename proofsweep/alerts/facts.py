"""What alerts are decided by, read from the store: the legs of the last weeks, the last probes, the rejections."""

from collections.abc import Iterator
from dataclasses import fields
from datetime import UTC, date, datetime, time, timedelta
from itertools import takewhile

import pyarrow.compute as pc

from proofsweep.alerts.events import FLOW_OF_OPERATION, state_of_run
from proofsweep.alerts.monitoring_alerts import ProbeFacts
from proofsweep.alerts.run_alerts import FlowEnd, NightFacts, RowKind, RunFacts, SupplierRejections, did_its_work
from proofsweep.answers.run_status import RunStatus
from proofsweep.answers.summary import advice_for, ending_of, label_of
from proofsweep.answers.views.views import value_of_tag
from proofsweep.endings import EndedBy
from proofsweep.model import layout
from proofsweep.model.exchanges import Call, Failure
from proofsweep.model.operations import Operation
from proofsweep.model.run_records import OUTCOMES, LegRecord, RunRecord
from proofsweep.model.runs import Claim, Plan, new_run_id
from proofsweep.model.tags import key_of_tag, spellings_by_key
from proofsweep.store.lease import Lease
from proofsweep.store.legs import Legs
from proofsweep.store.operations import Operations
from proofsweep.store.plans_and_parts import Results
from proofsweep.store.probes import read_probes
from proofsweep.store.run_index import RunIndex
from proofsweep.store.watches import ingest_store, watched_ids
from proofsweep.text import minute_of

_KEYED = [str(call) for call in Call if call.is_keyed]


def recent_runs(results: Results, since: datetime) -> Iterator[RunRecord]:
    """Return the runs that were planned since an instant, the newest first, from the index of runs."""
    oldest = new_run_id(since, "")
    return takewhile(lambda run: run.plan.run_id >= oldest, RunIndex(results).refreshed().newest_first())


def newest_leg(results: Results, environment: str, since: datetime) -> tuple[Plan, LegRecord] | None:
    """Find the leg that ended last, in the runs of an environment that were planned since an instant."""
    runs = (run for run in recent_runs(results, since) if run.plan.environment == environment)
    legs = ((run.plan, leg) for run in runs for leg in run.legs if ended_at(leg) is not None)
    return max(legs, key=lambda each: (ended_at(each[1]), each[1].leg), default=None)


def ended_at(leg: LegRecord) -> datetime | None:
    """Return when a leg ended; None if it is not known."""
    return _instant(leg.counts.get("finished_at"))


def line_of_leg(plan: Plan, leg: LegRecord) -> str:
    """Return how a leg ended, and how many rows have which outcome."""
    counts = ", ".join(f"{count:,} {outcome}" for outcome in OUTCOMES if (count := _count(leg, outcome)))
    return f"run {plan.run_id}, leg {leg.leg}, ended by {leg.receipt.get('ended_by')}: {counts or 'no row'}"


def night_facts(
    results: Results, environment: str, catalog: str | None, *, since: datetime, enough: datetime
) -> NightFacts:
    """Find the last leg that did its work, in runs planned since an instant; one that ended `enough` late will do."""
    ends: list[datetime] = []
    first_run: datetime | None = None
    for run in recent_runs(results, since):
        if run.plan.environment != environment or catalog not in {None, run.plan.catalog}:
            continue
        first_run = datetime.fromisoformat(run.plan.created_at)
        ends += [ended for leg in run.legs if _did_its_work(leg) and (ended := ended_at(leg)) is not None]
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
        if not run.is_over and Legs(results, run.plan.run_id).last() > len(run.legs):
            return None
        calls += sum(_calls_between(results, run.plan, leg, begin, begin + timedelta(days=1)) for leg in run.legs)
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
        is_own = results.environment in {None, receipt.get("environment")}
        if is_own and receipt.get("base_url") == base_url and isinstance(by_day, dict):
            calls += by_day.get(begin.date().isoformat(), 0)
    return calls


def _calls_of_monitoring(results: Results, base_url: str, day: date) -> int:
    probes = read_probes(results, ["environment", "call", "base_url", "failure"], [day])
    if results.environment is not None:
        probes = probes.filter(pc.field("environment") == results.environment)
    is_sent = pc.field("failure").is_null() | (pc.field("failure") != Failure.CONNECTION)
    keyed = pc.field("call").isin(_KEYED) & (pc.field("base_url") == base_url)
    return int(probes.filter(keyed & is_sent).num_rows)


def _calls_between(results: Results, plan: Plan, leg: LegRecord, begin: datetime, end: datetime) -> int:
    """Take the count of a leg that lies in a time span; read the exchanges of one that crosses its begin or end."""
    began, ended = _instant(leg.counts.get("started_at")), ended_at(leg)
    if began is None or ended is None or ended < begin or began >= end:
        return 0
    if began >= begin and ended < end:
        return _count(leg, "calls")
    names = [name for name in results.parts_of("exchanges", plan) if layout.leg_of(name) == leg.leg]
    charged = pc.field("call").isin(_KEYED) & pc.field("bytes_sent").is_valid()
    within = (pc.field("started_at") >= begin) & (pc.field("started_at") < end)
    parts = (results.table("exchanges", [name], ["call", "bytes_sent", "started_at"]) for name in names)
    return sum(part.filter(charged & within).num_rows for part in parts)


def _did_its_work(leg: LegRecord) -> bool:
    accepted, rejected, failed, ineligible = (_count(leg, outcome) for outcome in OUTCOMES)
    finished, have_all_failed = accepted + rejected + failed + ineligible, failed > 0 and not accepted + rejected
    return did_its_work(str(leg.receipt.get("ended_by")), finished, have_all_failed=have_all_failed)


def _count(leg: LegRecord, column: str) -> int:
    found = leg.counts.get(column)
    return found if isinstance(found, int) else 0


def _instant(text: object) -> datetime | None:
    return None if text is None else datetime.fromisoformat(str(text))


def killed_work(results: Results, environment: str, since: datetime) -> Iterator[FlowEnd]:
    """Return the newest operations of each kind, and the last pass over each folder, that were killed."""
    operations = Operations(results)
    for operation in _newest_operations(operations, environment, since):
        flow = FLOW_OF_OPERATION[operation.kind]
        began = f"The {operation.kind} of {minute_of(operation.started_at)} has no end."
        lease = operations.lease(operation.operation_id)
        yield _killed(results, environment, (flow, flow, began), lease.holder(lease.last()))
    leases = Results(ingest_store(results.store.url))
    for watch in watched_ids(leases.store):
        lease = Lease(leases, watch)
        if (
            (claim := lease.holder(lease.last()))
            and _was_killed(lease)
            and claim.facts.get("environment") == environment
        ):
            folder, began = str(claim.facts.get("folder")), f"The pass of {minute_of(claim.claimed.at)} has no end."
            yield _killed(results, environment, ("check-ingest", folder, began), claim)


def _killed(results: Results, environment: str, work: tuple[str, str, str], claim: Claim | None) -> FlowEnd:
    """Return the end of work: of which flow, on what, and what is known of it."""
    flow, subject, began = work
    state, machine = EndedBy.KILLED.ending.state, None if claim is None else claim.host
    return FlowEnd(environment, flow, state, subject, results.store.url, [began], machine=machine)


def _newest_operations(operations: Operations, environment: str, since: datetime) -> Iterator[Operation]:
    read = map(operations.operation, operations.ids(new_run_id(since, "")))
    newest = {each.kind: each for each in read if each is not None and each.environment == environment}
    for each in newest.values():
        if operations.receipt(each.operation_id) is None and _was_killed(operations.lease(each.operation_id)):
            yield each


def _was_killed(lease: Lease) -> bool:
    """Whether a lease was claimed, and its last term has neither an end nor a live process."""
    last = lease.last()
    return last > 0 and lease.receipt(last) is None and not lease.is_alive(last)


# Passes that are looked at, and their greatest age. Chosen: five hours of passes each five minutes, which a slowdown is
# compared with.
_MOST_PASSES = 60
_GREATEST_AGE = timedelta(hours=12)

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


_OF_RUN = "FROM rejects WHERE run_id = ? AND outcome = 'rejected'"
_NAMES = f"SELECT DISTINCT unnest(json_keys(tags)) {_OF_RUN} ORDER BY ALL"
_COUNTS = f"SELECT {{supplier}} AS supplier, reason, count(*) {_OF_RUN} GROUP BY 1, 2 HAVING supplier <> ''"


def supplier_rejections(results: Results, plan: Plan, tag: str) -> list[SupplierRejections]:
    """Count the rejected files of a run by supplier and reason; a file without the tag has no supplier."""
    from proofsweep.answers.views.connection import answering  # noqa: PLC0415 - a run without such an alert needs no DuckDB

    with answering(results, plan.environment, "rejects") as connection:
        names = [name for (name,) in connection.execute(_NAMES, [plan.run_id]).fetchall()]
        spellings = spellings_by_key(names).get(key_of_tag(tag))
        query = _COUNTS.format(supplier=value_of_tag(spellings)) if spellings else None
        found = connection.execute(query, [plan.run_id]).fetchall() if query else []
    return [SupplierRejections(supplier, reason, rows) for supplier, reason, rows in found]


def facts_of_run(results: Results, tag: str | None, run: RunStatus, *, tries_left: bool = False) -> RunFacts:
    """Gather what is told of a run; its last leg has ended. `tag` names the supplier, if it is set."""
    holder = Legs(results, run.plan.run_id).holder(run.legs[-1].leg)
    return RunFacts(
        run_id=run.plan.run_id,
        environment=run.plan.environment,
        catalog=run.plan.catalog,
        results_url=results.store.url,
        state=state_of_run(
            run.ended_by or EndedBy.KILLED, is_over=run.is_over, failed=run.rows("failed"), answered=run.answered
        ),
        ending=ending_of(run),
        why=run.why,
        items=run.plan.items,
        remaining=run.remaining,
        failed=run.rows("failed"),
        answered=run.answered,
        kinds=[RowKind(group.rows, label_of(group), advice_for(group)) for group in run.groups],
        rejections=[] if tag is None else supplier_rejections(results, run.plan, tag),
        sunset=run.sunset,
        in_doubt=run.legs[-1].in_doubt,
        nights_in_doubt=run.nights_in_doubt if run.remaining else 0,
        head=Legs(results, run.plan.run_id).receipt_digest(run.legs[-1].leg),
        tries_left=tries_left,
        machine=None if holder is None else holder.host,
    )
