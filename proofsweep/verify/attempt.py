"""One attempt at a run, from lease to receipt: no other may be alive, and those that died before are settled first."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict

from proofsweep.config.logs import LogEvent, log
from proofsweep.config.threads import ThreadPoolExecutor, background_thread, utc_now
from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import CallFailed, ConfigError, ResultsError, RunIsActive, RunMustStop
from proofsweep.domain.items import Row
from proofsweep.domain.runs import INGEST, Bounds, Plan
from proofsweep.store import layout
from proofsweep.store.journal import delete_journal
from proofsweep.store.lease import CatalogLease, Legs, legs_of, receipts_of
from proofsweep.store.objects import numbered
from proofsweep.store.parts import Results
from proofsweep.store.runs import RunIndex
from proofsweep.verify.commit import LegParts, record_ended_legs, record_leg, settle_leg
from proofsweep.verify.history import learned_rate, note_leg
from proofsweep.verify.item import Clock
from proofsweep.verify.leg import Leg, kept_alive
from proofsweep.verify.rate_leases import RateLeases
from proofsweep.verify.service import Service, bind_key

# Where a leg's lease has its bounds, for a flow run that goes on with what is left of them. No cell of `runs`.
BOUNDS = "bounds"


@contextmanager
def begun_leg(
    service: Service,
    results: Results,
    run_id: str,
    bounds: Bounds,
    *,
    partition: int = 0,
    sharers: int = 1,
    flow_run_id: str | None,
    dedupe: bool,
    drain_seconds: float,
) -> Iterator[Leg]:
    """Begin the next leg of a partition, and settle it however the work inside ends.

    (1) examine the service and share the lane, (2) take its lease, (3) keep it alive, (4) settle the legs that died
    before it, (5) settle it. `bounds` are of all `sharers` together, which are legs that begin now: each has its part.

    RunIsActive if another leg of the partition is alive. ConfigError, ResultsError or RunMustStop if it was not begun.
    """
    settings = service.settings
    plan = plan_to_work_on(results, run_id, settings.environment, sidecar_field=settings.sidecar_field)
    status = service.awaited(bounds.reserve)  # (1)
    rate = learned_rate(results, settings.base_url, service.key_fingerprint, service.clock())
    service.dispatcher.remember(None if rate is None else rate / sharers)
    with RateLeases(results.store, service, plan, rate).shared():
        bind_key(results.store, service.key_fingerprint, settings.base_url)
        facts: Row = {
            "key_fingerprint": service.key_fingerprint,
            "flow_run_id": flow_run_id,
            "quota_before": status.headroom,
            "service_version": status.version,
            "service_commit": status.commit,
            "service_deployed_at": status.deployed_at,
        }
        number = open_leg(results, plan, utc_now, facts | {BOUNDS: asdict(bounds)}, partition)  # (2)
        try:
            own = bounds.shared_by(sharers)
            leg = Leg(service, results, plan, number, own, dedupe=dedupe, drain_seconds=drain_seconds)
        except BaseException:
            legs_of(results.store, plan)[partition].release(number)
            raise
        leg.budget.take_reading(status.headroom, status.quota_reset)
        with leg_session(leg, facts, service.clock):
            yield leg
    bind_key(results.store, service.key_fingerprint, settings.base_url)  # of a key that took over meanwhile


@contextmanager
def leg_session(leg: Leg, facts: Row, clock: Clock) -> Iterator[None]:
    """Keep a leg alive for the work inside, and settle it however the work ends."""
    results, plan = leg.results, leg.plan
    started_at = clock()
    log(LogEvent.LEG_OPENED, run_id=plan.run_id, leg=leg.number, items=len(leg.completed.own))
    leg.dispatcher.on_open = leg.attribution.restore
    try:
        with (
            kept_alive(leg.heartbeat, leg.parts),  # (3)
            background_thread("quota", leg.budget.keep_probing, leg.stop.pull),
        ):
            settle_legs_before(results, plan, utc_now, leg.number)  # (4)
            record_ended_legs(results, RunIndex(results).refreshed())
            leg.completed.read()
            yield
    finally:
        leg.dispatcher.on_open = None
        reason = leg.stop.reason
        ended_by = EndedBy.COMPLETE if reason is None else reason.ended_by
        # The last reading of the quota may take a minute, and the parts of a long run some.
        with background_thread("heartbeat", leg.heartbeat.send_heartbeats):
            facts = facts | {"started_at": started_at, "quota_after": _headroom(leg, ended_by)}
            facts |= {"finished_at": max(started_at, clock()), "rate_learned": leg.dispatcher.status().rate}
            leg.trail.flush()
            row = settle_leg(  # (5)
                leg.parts,
                Legs(results.store, plan.run_id),
                ended_by,
                facts,
                why=None if reason is None else reason.message,
                quota_reset=leg.budget.quota_reset,  # as the service last said
                in_doubt=sorted(leg.attribution.put_aside),  # rows that were tried and remain
            )
        log(LogEvent.LEG_CLOSED, run_id=plan.run_id, leg=leg.number, ended_by=str(row["ended_by"]))
        note_leg(results, plan)


def _headroom(leg: Leg, ended_by: EndedBy) -> int | None:
    if ended_by in {EndedBy.BREAKER, EndedBy.KEY_REFUSED}:
        return None
    if ended_by is EndedBy.QUOTA and not leg.budget.ran_out:
        return 0  # the service said so, and is left alone
    try:
        return leg.verify.partner.with_attempts(1).usage(days=1)[1].rate_remaining
    except (CallFailed, RunMustStop):
        return leg.budget.left if ended_by is EndedBy.QUOTA else None  # a spent quota may refuse this call, too


def open_leg(results: Results, plan: Plan, clock: Clock, facts: Row, partition: int = 0) -> int:
    """Take the next leg of a partition for this process; give its number. It must settle the legs before it first.

    A run of which no leg has ended is superseded if another run of its catalog is worked on, or was since it was
    planned: ResultsError from then on. RunIsActive, with its holder, if another leg of this partition or of its catalog
    is alive. `facts` are cells of the `runs` row that only this process knows.
    """
    legs = legs_of(results.store, plan, clock)[partition]
    leg = _take_next(legs, facts)
    ends = [receipt["ended_by"] for receipt in receipts_of(results.store, plan).values() if receipt]
    if EndedBy.SUPERSEDED in ends:  # a leg of another partition was too late for its catalog, and so is this one
        _end_superseded(results, plan, legs, leg)
        raise _superseded(plan.run_id)
    is_new = not ends
    try:
        if plan.catalog_kind != INGEST:  # passes hold the lease of their folder, and sweeps yield to them
            catalog = CatalogLease(results.store, plan.environment, plan.identity, clock)
            catalog.take(plan, leg, plan.catalog_term if is_new else None)
    except RunIsActive:
        if is_new:
            _end_superseded(results, plan, legs, leg)
        else:
            legs.release(leg)
        raise
    return leg


def supersede(results: Results, plan: Plan, clock: Clock, *, is_given_up: bool = False) -> None:
    """End a run that nobody must go on with, by legs that do nothing; RunIsActive if one of its legs is alive.

    One that a person has given up says no more what its catalog lists.
    """
    settle_last_legs(results, plan, clock)
    for legs in legs_of(results.store, plan, clock):
        _end_superseded(results, plan, legs, _take_next(legs, {}), is_given_up=is_given_up)


def _take_next(legs: Legs, facts: Row) -> int:
    last = legs.last_ended()
    if (legs.receipt(last) or {}).get("ended_by") == EndedBy.SUPERSEDED:
        raise _superseded(legs.name)
    leg = legs.after(last)  # no later one: a rival may have taken this number meanwhile
    legs.take(leg, facts)
    return leg


def _superseded(run_id: str) -> ResultsError:
    return ResultsError(f"Run {run_id} was superseded by another run of its catalog: verify the catalog.")


def _end_superseded(results: Results, plan: Plan, legs: Legs, leg: int, *, is_given_up: bool = False) -> None:
    settle_legs_before(results, plan, legs.clock, leg)
    facts: Row = dict.fromkeys(("started_at", "finished_at"), legs.clock())
    settle_leg(LegParts.found(results, plan, leg), legs, EndedBy.SUPERSEDED, facts, is_given_up=is_given_up)
    note_leg(results, plan)


def settle_last_legs(results: Results, plan: Plan, clock: Clock) -> None:
    """See that the last leg of each partition is over, and settle the legs that died; RunIsActive if one is alive."""
    partitions = legs_of(results.store, plan, clock)
    with ThreadPoolExecutor(len(partitions)) as pool:  # a leg of another machine may have to be waited for
        last = list(pool.map(Legs.last_ended, partitions))
    for legs, number in zip(partitions, last, strict=True):
        settle_legs_before(results, plan, clock, legs.after(number))


def unfinished_partitions(results: Results, plan: Plan) -> list[int]:
    """Return the partitions whose last leg did not end with all of their rows; of a killed one, its journal may."""
    ends = [(legs.receipt(legs.last()) or {}).get("ended_by") for legs in legs_of(results.store, plan)]
    return [partition for partition, ended_by in enumerate(ends) if ended_by != EndedBy.COMPLETE]


def settle_legs_before(results: Results, plan: Plan, clock: Clock, leg: int) -> None:
    """See that each leg of its partition before one has its receipt, its entry and its row in `runs`, and no journal.

    In the order of the legs, so that a receipt shows that no row before it is missing: (1) close a dead leg, (2) write
    the row, which comes after the entry, (3) delete what a process that was frozen has journalled since.
    """
    legs = legs_of(results.store, plan, clock)[plan.partition_of_leg(leg)]
    written = set(results.store.names(layout.table_folder("runs", plan.run_date)))
    for number in range(legs.first, leg, legs.step):
        if legs.receipt(number) is None:
            holder = legs.holder(number)
            facts = {} if holder is None else {name: fact for name, fact in holder.facts.items() if name != BOUNDS}
            with suppress(RunIsActive):  # another process settled it, or its own did
                settle_leg(LegParts.found(results, plan, number), legs, EndedBy.KILLED, facts)  # (1)
            log(LogEvent.LEG_TAKEN_OVER, run_id=plan.run_id, leg=number)
        if layout.runs_name(plan.run_id, plan.run_date, number) not in written:
            record_leg(results, plan, legs, number)  # (2)
    for number in numbered(results.store, layout.journals_folder(plan.run_id)):
        if number < leg and plan.partition_of_leg(number) == legs.first - 1:
            delete_journal(results.store, plan.run_id, number)  # (3)


def plan_to_work_on(results: Results, run_id: str, environment: str, *, sidecar_field: str | None) -> Plan:
    """Return a run's plan; ConfigError if it is of another environment, or has pairs whose wire name is not set."""
    plan = results.plan(run_id)
    if plan.environment != environment:
        raise ConfigError(
            f"Run {run_id} was planned for {plan.environment}, but the settings are for {environment}; give the config "
            "it was planned with."
        )
    if plan.pairs and sidecar_field is None:
        raise ConfigError(
            f"Run {run_id} was planned with {plan.pairs:,} legacy pairs to send, and the sidecar's wire name is not "
            "set: set service.sidecar_field."
        )
    return plan
