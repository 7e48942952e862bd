"""One attempt at a run, from its begin to its receipt: no other is alive, and those that died before ended first."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from urllib.parse import urlsplit

from proofsweep.client.keys import fingerprint
from proofsweep.config.logs import LogEvent, log
from proofsweep.config.threads import background_thread, monotonic, utc_now
from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import CallFailed, ConfigError, ResultsError, RunIsActive, RunMustStop
from proofsweep.domain.items import Row
from proofsweep.domain.runs import INGEST, Bounds, Plan
from proofsweep.store import layout
from proofsweep.store.journal import delete_journal
from proofsweep.store.legs import HeldLeg, Legs, refuse_rivals
from proofsweep.store.objects import numbered
from proofsweep.store.operations import recovered_sidecars
from proofsweep.store.parts import Results
from proofsweep.store.runs import Runs
from proofsweep.verify.check_file import known_good_items
from proofsweep.verify.commit import LegParts, commit_leg
from proofsweep.verify.history import learned_rate, record_leg
from proofsweep.verify.item import Clock
from proofsweep.verify.leg import Leg, kept_alive
from proofsweep.verify.rate_leases import RateLeases
from proofsweep.verify.repair import BOUNDS, end_dead_legs
from proofsweep.verify.service import Service, bind_key

_READ_AGAIN_SECONDS = 1.0  # between two tries, while the store is away


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

    (1) examine the service and share the lane, (2) begin it in the log, (3) keep it alive, (4) settle it. `bounds` are
    of all `sharers` together, which are legs that begin now: each has its part.

    RunIsActive if another leg of the partition is alive. ConfigError, ResultsError or RunMustStop if it was not begun.
    """
    settings = service.settings
    plan = plan_to_work_on(results, run_id, settings.environment, sidecar_field=settings.sidecar_field)
    known_good = known_good_items(settings)  # what may fail is read before the leg begins
    recovered = recovered_sidecars(results) if plan.pairs else frozenset()
    status = service.awaited(bounds.reserve)  # (1)
    rate = learned_rate(results, settings.base_url, service.key_fingerprint, service.clock())
    own_rate = None if rate is None else rate / sharers
    service.scheduler.remember(own_rate)
    with RateLeases(results.store, service, plan, rate).shared():
        # The key was taken before the plan, where the store may have begun with it.
        bind_key(results.store, service.key_fingerprint, settings.base_url)
        facts: Row = {
            "base_url_host": urlsplit(settings.base_url).netloc,  # a run may go on where its plan was not made
            "key_fingerprint": service.key_fingerprint,
            "flow_run_id": flow_run_id,
            "quota_before": status.headroom,
            "service_version": status.version,
            "service_commit": status.commit,
            "service_deployed_at": status.deployed_at,
        }
        held = open_leg(results, plan, utc_now, facts | {BOUNDS: asdict(bounds)}, partition)  # (2)
        leg = Leg(
            service,
            results,
            plan,
            held,
            bounds.shared_by(sharers),
            known_good=known_good,
            recovered=recovered,
            dedupe=dedupe,
            drain_seconds=drain_seconds,
        )
        leg.budget.record_reading(status.headroom, status.quota_reset)
        with leg_session(leg, facts, service.clock):
            yield leg


@contextmanager
def leg_session(leg: Leg, facts: Row, clock: Clock) -> Iterator[None]:
    """Keep a leg alive for the work inside, and settle it however the work ends."""
    results, plan = leg.results, leg.plan
    started_at, refused_before = clock(), leg.scheduler.refused
    log(LogEvent.LEG_OPENED, run_id=plan.run_id, leg=leg.number, items=len(leg.completed.own))
    leg.scheduler.on_open = leg.attribution.restore
    leg.key.on_renewed = leg.budget.forget_reading
    try:
        with (
            kept_alive(leg.heartbeat, leg.parts),  # (3)
            background_thread("quota", leg.budget.keep_probing, leg.stop.pull),
        ):
            _read_completed(leg)
            yield
    finally:
        leg.scheduler.on_open = None
        ended_by, why = EndedBy.COMPLETE, None
        if leg.stop.reason is not None:
            ended_by = leg.stop.reason.ended_by
            why = leg.stop.reason.message
        # The last reading of the quota may take a minute, but no longer than the drain of a leg that was stopped; and
        # the parts of a long run take some.
        with (
            background_thread("watch", leg.heartbeat.watch_drain),
            background_thread("heartbeat", leg.heartbeat.send_heartbeats),
        ):
            quota_after = _headroom(leg, ended_by)
            finished_at = max(started_at, clock())
            facts = facts | {"started_at": started_at, "quota_after": quota_after, "finished_at": finished_at}
            facts |= {"key_fingerprint": fingerprint(leg.key.current)}  # another one may have taken over
            # A rate that was only remembered is told no further: each leg would pass it on to the next, for ever.
            if leg.scheduler.refused > refused_before:
                facts |= {"rate_learned": leg.scheduler.status().rate}
            leg.trail.flush()
            row = commit_leg(  # (4)
                leg.parts,
                ended_by,
                facts,
                why=why,
                quota_reset=leg.budget.quota_reset,  # as the service last said
                in_doubt=sorted(leg.attribution.deferred_rows),  # rows that were tried and remain
            )
        log(LogEvent.LEG_CLOSED, run_id=plan.run_id, leg=leg.number, ended_by=str(row["ended_by"]))
        record_leg(results, plan)


def _read_completed(leg: Leg) -> None:
    """Read which rows are finished, and the items of a small run."""
    # A store that fails meanwhile is waited for, as while the leg works.
    late_at = monotonic() + leg.heartbeat.store_outage_seconds
    is_read = False
    while not is_read:
        try:
            _delete_old_journals(leg.results, leg.plan, leg.number)
            leg.completed.read()
            leg.completed.read_few()
            is_read = True
        except ResultsError as error:
            if monotonic() >= late_at:
                why = f"The run's own records cannot be read: {error.message}"
                leg.stop.pull(RunMustStop(why, ended_by=EndedBy.BREAKER))
            leg.stop.rest(_READ_AGAIN_SECONDS)


def _headroom(leg: Leg, ended_by: EndedBy) -> int | None:
    if ended_by in {EndedBy.BREAKER, EndedBy.KEY_REFUSED} or leg.heartbeat.is_lost:
        return None
    if ended_by is EndedBy.QUOTA and not leg.budget.ran_out:
        return 0  # the service said so, and is left alone
    try:
        partner = leg.verify.partner.with_attempts(1).within(leg.budget.claim_last)
        _, headers = partner.usage(days=1)
    except (CallFailed, RunMustStop):
        return leg.budget.left if ended_by is EndedBy.QUOTA else None  # a spent quota may refuse this call, too
    return headers.rate_remaining


def open_leg(results: Results, plan: Plan, clock: Clock, facts: Row, partition: int = 0) -> HeldLeg:
    """Begin the next leg of a partition in this process, when those of processes that are gone have ended.

    A run of which no leg ever began is superseded if another run of its catalog is worked on, or was since the catalog
    was read for it: that one may have sent the same files. ResultsError from then on. RunIsActive, with its holder, if
    another leg of this partition, or of another run of the catalog, is at work. `facts` are cells of the `runs` row
    that only this process knows.
    """
    end_dead_legs(results, clock, plan, partition)

    def refuse(runs: Runs) -> None:
        record = runs.records.get(plan.run_id)
        if record is not None and record.is_superseded:
            raise _superseded(plan.run_id)
        if plan.catalog_kind == INGEST:  # a pass holds its folder, and sweeps yield to it
            return
        refuse_rivals(results, runs, plan.environment, plan.identity, plan.run_id)
        if record is not None and record.begun:
            return
        first = runs.began_after(plan)
        if first is not None:
            run_id = first.plan.run_id
            raise RunIsActive(f"Run {run_id} of this catalog began before this one; see: proofsweep status {run_id}")

    try:
        return Legs(results, plan, clock).begin(facts, partition, refuse=refuse)
    except RunIsActive:
        record = results.log.runs().records.get(plan.run_id)
        if record is None or not record.begun:
            supersede(results, plan, clock)
        raise


def supersede(results: Results, plan: Plan, clock: Clock, *, is_given_up: bool = False) -> None:
    """End a run that nobody must go on with, by legs that do nothing; RunIsActive if one of its legs is at work.

    One that a person has given up says no more what its catalog lists.
    """
    recover_last_legs(results, plan, clock)
    for partition in range(plan.partitions):
        legs = Legs(results, plan, clock)
        held = legs.begin({}, partition, ends_as=EndedBy.SUPERSEDED, is_given_up=is_given_up)
        facts: Row = dict.fromkeys(("started_at", "finished_at"), clock())
        parts = LegParts.found(results, plan, held.number)
        commit_leg(parts, EndedBy.SUPERSEDED, facts, is_given_up=is_given_up)
    record_leg(results, plan)


def _superseded(run_id: str) -> ResultsError:
    return ResultsError(f"Run {run_id} was superseded by another run of its catalog: verify the catalog.")


def recover_last_legs(results: Results, plan: Plan, clock: Clock) -> None:
    """End the legs of a run whose processes are gone; RunIsActive if one is at work."""
    end_dead_legs(results, clock, plan)
    legs = Legs(results, plan, clock)
    for leg in legs.open():
        raise legs.active_error(leg)


def unfinished_partitions(results: Results, plan: Plan) -> list[int]:
    """Return the partitions whose last leg did not end with all of their rows."""
    record = results.log.runs().records[plan.run_id]
    last_ended_by: dict[int, str | None] = {}
    for leg in record.legs:
        partition = plan.partition_of_leg(leg.leg)
        last_ended_by[partition] = leg.ended_by
    return [partition for partition in range(plan.partitions) if last_ended_by.get(partition) != EndedBy.COMPLETE]


def _delete_old_journals(results: Results, plan: Plan, leg: int) -> None:
    # A process that was frozen may journal after its leg was ended. Nobody publishes that.
    own_partition = plan.partition_of_leg(leg)
    for number in numbered(results.store, layout.journals_folder(plan.run_id)):
        if number < leg and plan.partition_of_leg(number) == own_partition:
            delete_journal(results.store, plan.run_id, number)


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
