"""One attempt at a run, from lease to receipt: no other may be alive, and those that died before are settled first."""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from datetime import datetime
from functools import partial

from proofsweep.client.stop import StopSwitch
from proofsweep.config.logs import Event, log
from proofsweep.config.sections import PaceSettings
from proofsweep.config.threads import background_thread
from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import CallFailed, ConfigError, ResultsError, RunIsActive, RunMustStop
from proofsweep.domain.items import Mode, Row
from proofsweep.domain.runs import INGEST, Bounds, Plan
from proofsweep.domain.text import printable
from proofsweep.store import layout
from proofsweep.store.journal import delete_journal
from proofsweep.store.keys import bind_key
from proofsweep.store.legs import CatalogLease, Legs
from proofsweep.store.parts import Results
from proofsweep.store.runs import RunIndex
from proofsweep.verify.budget import BudgetGuard
from proofsweep.verify.commit import LegEnd, record_ended_legs, record_leg, settle_leg
from proofsweep.verify.forecast import Forecast, Means, Measurement, Need, forecast
from proofsweep.verify.history import note_leg
from proofsweep.verify.item import Clock
from proofsweep.verify.lane_sharing import lane_sharing, remembered_rate
from proofsweep.verify.service import Service, ServiceStatus
from proofsweep.verify.session import LegContext, leg_context
from proofsweep.verify.threads import most_open_files, workers_that_fit

QUOTA_PROBE_SECONDS = 300.0  # between two probes of the headroom (contract, Versioning 7: about every five minutes)
_LOOK_SECONDS = 4.0  # bounds the requests to a bucket, and how late a request is seen
# Where a leg's lease has its bounds, for a flow run that goes on with what is left of them. No cell of `runs`.
BOUNDS = "bounds"
_MANY_FILES = 100  # two calls are at most a hundredth of the calls of such a leg
_NO_ANSWER = {EndedBy.BREAKER, EndedBy.KEY_REFUSED}


@dataclass(slots=True, kw_only=True)
class StopRequests:
    """Looks for a request to stop a leg, and stops it as Ctrl-C does; used by one thread."""

    legs: Legs
    leg: int
    stop: StopSwitch
    drain_seconds: float  # time that items in flight have then
    abort: Callable[[], None]  # abandons the items in flight
    _token: str | None = field(default=None, repr=False)
    _look_at: float = -math.inf
    _abort_at: float | None = None

    def look(self) -> None:
        """Look for a request when that is due, and abandon what is in flight when its time is over.

        Raises:
            ResultsError: the store cannot be read.
        """
        now = self.legs.uptime()
        if self._abort_at is not None:
            if now >= self._abort_at:
                self._abort_at = math.inf
                self.abort()
        elif now >= self._look_at:
            self._look_at = now + _LOOK_SECONDS
            self._look(now)

    def _look(self, now: float) -> None:
        if self._token is None:
            holder = self.legs.holder(self.leg)
            self._token = "" if holder is None else holder.token
        host = self.legs.stop_asked_on(self.leg, self._token) if self._token else None
        if host is None:
            return
        self._abort_at = now + self.drain_seconds
        log(Event.STOP_REQUESTED, run_id=self.legs.name, leg=self.leg, host=host)
        why = f"It was stopped by `proofsweep stop`, asked on {printable(host)}."
        self.stop.pull(RunMustStop(why, ended_by=EndedBy.CANCELLED))


@dataclass(frozen=True, slots=True, kw_only=True)
class LegRequest:
    results: Results
    plan: Plan
    base_url: str
    service: ServiceStatus  # as it was just examined
    key_fingerprint: Callable[[], str]  # tells the key in use from others; another one may take over during the leg
    flow_run_id: str | None
    clock: Clock
    bounds: Bounds = field(default_factory=Bounds)
    drain_seconds: float = 0.0  # time that items in flight have when somebody asks in the store that the leg stops
    abort: Callable[[], None] = lambda: None


@contextmanager
def begun_leg(request: LegRequest) -> Iterator[tuple[int, Row]]:
    """Begin the next leg of a run; release it if its context, which is made inside, cannot be made.

    (1) bind the key to the service, (2) take the lease. Its number comes with the cells of its `runs` row that are
    known when it begins.

    Raises:
        ResultsError: it cannot be begun.
        RunIsActive: another leg is alive.
    """
    bind_key(request.results.store, request.key_fingerprint(), request.base_url)  # (1)
    facts = _leg_facts(request)
    noted = facts | {BOUNDS: asdict(request.bounds)}
    number = open_leg(request.results, request.plan, request.clock, noted)  # (2)
    try:
        yield number, facts
    except BaseException:
        Legs(request.results.store, request.plan.run_id, request.clock).release(number)
        raise


@contextmanager
def leg_session(request: LegRequest, facts: Row, leg: LegContext) -> Iterator[None]:
    """Keep a leg for the work inside, and settle it.

    (3) keep it alive, (4) settle the legs that died before it, and send the negative control, (5) settle
    it, however the work ended.
    """
    results, plan = request.results, request.plan
    started_at, cpu_then = request.clock(), time.process_time()
    requests = StopRequests(
        legs=leg.heartbeat.legs,
        leg=leg.leg,
        stop=leg.stop,
        drain_seconds=request.drain_seconds,
        abort=request.abort,
    )
    leg.heartbeat.progress, leg.heartbeat.look_for_stop = lambda: leg.progress, requests.look
    log(Event.LEG_OPENED, run_id=plan.run_id, leg=leg.leg, items=plan.items)
    try:
        leg.budget.take_snapshot(request.service.headroom, request.service.quota_reset)
        leg.trail.write_unattributed()
        with (
            background_thread("heartbeat", leg.heartbeat.keep, leg.stop.pull),  # (3)
            background_thread("commit", partial(leg.parts.publish_as_it_grows, leg.journal, leg.stop), leg.stop.pull),
            background_thread("quota", leg.budget.keep_probing, leg.stop.pull),
        ):
            settle_legs_before(results, plan, request.clock, leg.leg)  # (4)
            record_ended_legs(results, RunIndex(results).refreshed())
            leg.completed.read()
            send_negative_control(leg)
            yield
    except BaseException:
        leg.stop.pull(RunMustStop("The work broke off.", ended_by=EndedBy.ERROR))
        raise
    finally:
        facts = facts | {"started_at": started_at, "quota_after": _headroom(leg)}
        facts |= {"finished_at": max(started_at, request.clock()), "rate_learned": leg.lane.rate}
        _settle(leg, facts, request.clock, time.process_time() - cpu_then + leg.counters.cpu_seconds)  # (5)
        note_leg(results, plan)
    bind_key(results.store, request.key_fingerprint(), request.base_url)  # of a key that took over meanwhile


@contextmanager
def leg_of(
    service: Service,
    results: Results,
    run_id: str,
    bounds: Bounds,
    *,
    flow_run_id: str | None,
    dedupe: bool,
    drain_seconds: float,
) -> Iterator[LegContext]:
    """Begin the next leg of a run, and settle it however the work inside ends.

    RunIsActive if another leg is alive. ConfigError, ResultsError or RunMustStop if it was not begun.
    """
    settings = service.settings
    request = LegRequest(
        results=results,
        plan=plan_to_work_on(results, run_id, settings.environment, sidecar_field=settings.sidecar_field),
        base_url=settings.base_url,
        bounds=bounds,
        service=service.awaited(bounds.reserve),
        key_fingerprint=lambda: service.key_fingerprint,
        flow_run_id=flow_run_id,
        clock=service.clock,
        drain_seconds=drain_seconds,
        abort=service.abort,
    )
    service.dispatcher.remember(remembered_rate(results, service))
    with lane_sharing(results, service, request.plan).shared():
        with begun_leg(request) as (number, facts):
            control = service.partner.for_control()
            budget = BudgetGuard(bounds, control, service.stop, service.clock, QUOTA_PROBE_SECONDS)
            leg = leg_context(service, results, request.plan, number, budget, dedupe=dedupe, is_holder=True)
        with leg_session(request, facts, leg):
            yield leg


def send_negative_control(leg: LegContext) -> None:
    """Send the probe audio ahead of a leg of many files; one that is accepted ends it before anything is believed."""
    if leg.completed.remaining < _MANY_FILES or leg.stop.reason is not None:
        return
    modes = {Mode.LEGACY_PAIR: leg.plan.pairs, Mode.ONE_FILE: leg.plan.eligible - leg.plan.pairs}
    for mode in (mode for mode, items in modes.items() if items):
        why = leg.control.calls.false_acceptance(mode)
        if why is not None:
            leg.stop.pull(RunMustStop(why, ended_by=EndedBy.BREAKER))


def _settle(leg: LegContext, facts: Row, clock: Clock, cpu_seconds: float) -> None:
    end = LegEnd(
        leg=leg.leg,
        ended_by=_ended_by(leg),
        cpu_seconds=cpu_seconds,
        why=leg.stop.reason.message if leg.stop.reason else None,
        quota_reset=leg.budget.quota_reset,
        facts=facts,
        in_doubt=sorted(leg.control.put_aside),
    )
    leg.trail.write_unattributed()
    leg.journal.flush()
    with background_thread("heartbeat", leg.heartbeat.send_heartbeats):  # the parts of a long run take minutes
        row = settle_leg(leg.results, leg.plan, end, Legs(leg.results.store, leg.plan.run_id, clock), leg.parts)
    log(Event.LEG_CLOSED, run_id=leg.plan.run_id, leg=leg.leg, ended_by=str(row["ended_by"]))


def _leg_facts(request: LegRequest) -> Row:
    service = request.service
    return {
        "key_fingerprint": request.key_fingerprint(),
        "flow_run_id": request.flow_run_id,
        "quota_before": service.headroom,
        "service_version": service.version,
        "service_commit": service.commit,
        "service_deployed_at": service.deployed_at,
    }


def _ended_by(leg: LegContext) -> EndedBy:
    reason = leg.stop.reason
    return EndedBy.COMPLETE if reason is None else reason.ended_by


def _headroom(leg: LegContext) -> int | None:
    if _ended_by(leg) in _NO_ANSWER:
        return None
    if _ended_by(leg) is EndedBy.QUOTA and not leg.budget.ran_out:
        return 0  # the service said so, and is left alone
    try:
        return leg.verify.partner.with_attempts(1).usage(days=1)[1].rate_remaining
    except (CallFailed, RunMustStop):
        return None


def open_leg(results: Results, plan: Plan, clock: Clock, facts: Row) -> int:
    """Take the next leg of a run for this process; give its number. It must settle the legs before it first.

    A run without a leg is superseded if another run of its catalog is worked on, or was since it was planned. `facts`
    are cells of the `runs` row that only this process knows.

    Raises:
        RunIsActive: another leg of this run or of its catalog is alive; the message names its holder.
        ResultsError: the run was superseded.
    """
    legs = Legs(results.store, plan.run_id, clock)
    leg = _taken(legs, facts)
    try:
        if plan.catalog_kind != INGEST:  # passes hold the lease of their folder, and sweeps yield to them
            catalog = CatalogLease(results.store, plan.environment, plan.identity, clock)
            catalog.take(plan.run_id, leg, plan.catalog_term if leg == 1 else None)
    except RunIsActive:
        if leg == 1:
            _end_superseded(results, plan, legs, leg)
        else:
            legs.release(leg)
        raise
    return leg


def supersede(results: Results, plan: Plan, clock: Clock) -> None:
    """End a run that nobody must go on with, by a leg that does nothing; RunIsActive if its last leg is alive."""
    legs = Legs(results.store, plan.run_id, clock)
    leg = _taken(legs, {})
    settle_legs_before(results, plan, clock, leg)
    _end_superseded(results, plan, legs, leg)


def _taken(legs: Legs, facts: Row) -> int:
    last = legs.last_over()
    if last and (legs.receipt(last) or {}).get("ended_by") == EndedBy.SUPERSEDED:
        raise ResultsError(f"Run {legs.name} was superseded by another run of its catalog: verify the catalog.")
    leg = legs.after(last)  # no later one: a rival may have taken this number meanwhile
    legs.take(leg, facts)
    return leg


def _end_superseded(results: Results, plan: Plan, legs: Legs, leg: int) -> None:
    now = legs.clock()
    facts: Row = {"started_at": now, "finished_at": now}
    settle_leg(results, plan, LegEnd(leg=leg, ended_by=EndedBy.SUPERSEDED, facts=facts), legs)
    note_leg(results, plan)


def settle_last_leg(results: Results, plan: Plan, clock: Clock) -> None:
    """See that the last leg of a run is over, and settle the legs that died; RunIsActive if it is alive."""
    legs = Legs(results.store, plan.run_id, clock)
    settle_legs_before(results, plan, clock, legs.after(legs.last_over()))


def settle_legs_before(results: Results, plan: Plan, clock: Clock, leg: int) -> None:
    """See that each leg before one has its receipt, its entry and its row in `runs`, and no journal.

    In the order of the legs, so that a receipt shows that no row before it is missing: (1) close a dead leg, (2) write
    what the last processes did not come to: the row, which comes after the entry, (3) delete what a process that was
    frozen has journalled since.
    """
    legs = Legs(results.store, plan.run_id, clock)
    written = set(results.store.names(layout.table_folder("runs", plan.run_date)))
    for number in range(1, leg):
        if legs.receipt(number) is None:
            holder = legs.holder(number)
            facts = {} if holder is None else {name: fact for name, fact in holder.facts.items() if name != BOUNDS}
            with suppress(RunIsActive):  # another process settled it, or its own did
                settle_leg(results, plan, LegEnd(leg=number, ended_by=EndedBy.KILLED, facts=facts), legs)  # (1)
            log(Event.LEG_TAKEN_OVER, run_id=plan.run_id, leg=number)
        if layout.runs_name(plan.run_id, plan.run_date, number) not in written:
            record_leg(results, plan, legs, number)  # (2)
    for number in map(int, results.store.folders(layout.journals_folder(plan.run_id))):
        if number < leg:
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


def forecast_leg(
    need: Need,
    status: ServiceStatus,
    bounds: Bounds,
    *,
    rate: float | None,
    pace: PaceSettings,
    history: Sequence[Measurement],
    now: datetime,
) -> Forecast:
    """Forecast a leg that begins now on this machine; `rate` is the key's, if anybody has learned it."""
    means = Means(
        headroom=status.headroom,
        reset=status.quota_reset,
        bounds=bounds,
        rate=rate,
        first_rate=pace.first_rate,
        workers=workers_that_fit(pace.workers, most_open_files()),
        ask_seconds=QUOTA_PROBE_SECONDS,
    )
    return forecast(need, means, history, now)
