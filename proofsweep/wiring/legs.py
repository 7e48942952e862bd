"""Legs, from the settings: what the process that holds one works with, its worker processes, and what retries do."""

import math
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace

from pydantic import TypeAdapter

from proofsweep import __version__
from proofsweep.config.load import Settings
from proofsweep.config.locations import path_of
from proofsweep.domain.endings import EndedBy
from proofsweep.domain.items import Mode
from proofsweep.domain.runs import INGEST, Bounds, Plan
from proofsweep.queries.status import run_worked_on_by
from proofsweep.store.journal import Journal
from proofsweep.store.known_rows import PastAnswers
from proofsweep.store.legs import Legs
from proofsweep.store.objects import open_store
from proofsweep.store.operations import recovered_sidecars
from proofsweep.store.rows import RowContext
from proofsweep.verify.attempt import BOUNDS, LegRequest, claimed_leg, leg_session, plan_to_work_on, settle_last_leg
from proofsweep.verify.attribution import Control
from proofsweep.verify.audit_trail import AuditTrail
from proofsweep.verify.budget import LAST_PROBE_CALLS, BudgetGuard
from proofsweep.verify.duplicates import DuplicateCache
from proofsweep.verify.item import VerifyContext
from proofsweep.verify.probes import ControlCalls, KnownFiles
from proofsweep.verify.session import Heartbeat, LegContext, RemainingItems
from proofsweep.verify.worker_process import (
    Close,
    GrantedBudget,
    GrantedSlice,
    IsOver,
    SliceResult,
    WorkerProcess,
    WorkerProcesses,
    refuse_missing_catalog,
    refuse_other_version,
)
from proofsweep.wiring.engines import Engine, build_engine, close_engines, known_good_for, say_if_fewer, utc_now
from proofsweep.wiring.key_sources import ReadBlock
from proofsweep.wiring.lanes import lane_sharing, remembered_rate
from proofsweep.wiring.runs import QUOTA_PROBE_SECONDS, bounds_for, resumable_since
from proofsweep.wiring.stores import path_here, results_for


@dataclass(frozen=True, slots=True, kw_only=True)
class LegHandle:
    """What a worker process needs to open a leg that was claimed. Holds no secret."""

    settings: Settings  # of the process that holds the leg, whatever the worker's environment is
    run_id: str
    leg: int
    bounds: Bounds = field(default_factory=Bounds)
    dedupe: bool = True
    processes: int = field(default=1, compare=False)  # share the lane and the items in flight
    version: str = __version__  # of the program that claimed the leg


@contextmanager
def claimed_next_leg(
    engine: Engine,
    run_id: str,
    *,
    flow_run_id: str | None = None,
    bounds: Bounds | None = None,
    dedupe: bool | None = None,
) -> Iterator[tuple[LegHandle, LegContext]]:
    """Claim the next leg of a run, and settle it however the work inside ends; by default as the settings have it.

    RunIsActive if another leg is alive. ConfigError, ResultsError or RunMustStop if nothing was claimed.
    """
    settings, service = engine.settings, engine.settings.service
    results, bounds = results_for(settings), bounds or bounds_for(settings)
    dedupe = settings.catalog.dedupe if dedupe is None else dedupe
    try:
        request = LegRequest(
            results=results,
            plan=plan_to_work_on(results, run_id, service.environment, sidecar_field=service.sidecar_field),
            base_url=service.base_url,
            bounds=bounds,
            service=engine.awaited_service(bounds.reserve),
            key_fingerprint=lambda: engine.key_fingerprint,
            flow_run_id=flow_run_id,
            clock=utc_now,
            drain_seconds=settings.bounds.drain_seconds,
            abort=engine.abort,
        )
        engine.dispatcher.remember(remembered_rate(engine))
        with lane_sharing(engine, request.plan).shared():
            with claimed_leg(request) as (number, facts):
                handle = LegHandle(
                    settings=_anywhere(settings), run_id=run_id, leg=number, bounds=bounds, dedupe=dedupe
                )
                budget = BudgetGuard(bounds, engine.partner.for_control(), engine.stop, utc_now, QUOTA_PROBE_SECONDS)
                engine.leg = leg = build_context(handle, engine, budget, is_claimant=True)
            with leg_session(request, facts, leg):
                yield handle, leg
    finally:
        engine.leg = None
        close_engines()


def _anywhere(settings: Settings) -> Settings:
    """Make the places in the settings absolute, for a process with another working directory."""
    service = {
        "api_key_file": file.absolute() if (file := settings.service.api_key_file) else None,
        "known_good": tuple(
            (path_here(audio), sidecar and path_here(sidecar)) for audio, sidecar in settings.service.known_good
        ),
    }
    return settings.model_copy(
        update={
            "results": settings.results.model_copy(update={"url": open_store(settings.results.url).url}),
            "service": settings.service.model_copy(update=service),
        }
    )


def build_context(handle: LegHandle, engine: Engine, budget: BudgetGuard, *, is_claimant: bool) -> LegContext:
    say_if_fewer(engine.settings.pace.workers, engine.workers.most)
    results = results_for(engine.settings)
    plan, stop, retry = results.plan(handle.run_id), engine.stop, engine.settings.retry
    journal = Journal(results, handle.run_id, handle.leg, writer=f"{os.getpid()}_{secrets.token_hex(4)}")
    trail = AuditTrail(journal, budget, engine.unattributed)
    legs, verify = Legs(results, handle.run_id, utc_now), _verify_context(handle, engine, plan)
    known = KnownFiles(_root_of(plan), PastAnswers(results, plan))
    control = Control(
        calls=ControlCalls(verify, trail, known, known_good_for(engine.settings)),
        dispatcher=engine.dispatcher,
        stop=stop,
        mode=Mode.LEGACY_PAIR if plan.pairs == plan.eligible else Mode.ONE_FILE,
        outage_seconds=retry.breaker_seconds,
    )
    recovered = recovered_sidecars(results) if plan.pairs else frozenset()
    return LegContext(
        plan=plan,
        leg=handle.leg,
        results=results,
        journal=journal,
        stop=stop,
        workers=engine.workers,
        dispatcher=engine.dispatcher,
        verify=replace(verify, partner=verify.partner.with_control(control.is_well)),
        remaining=RemainingItems(results, plan),
        budget=budget,
        control=control,
        trail=trail,
        heartbeat=Heartbeat(
            legs=legs,
            leg=handle.leg,
            journal=journal,
            trail=trail,
            budget=budget,
            stop=stop,
            store_outage_seconds=retry.breaker_seconds,
            is_claimant=is_claimant,
        ),
        counters=trail.counters,
        row_context=RowContext(plan.run_id, handle.leg, plan.environment, recovered, legs.epoch(handle.leg)),
        in_doubt_before=legs.in_doubt_before(handle.leg),
    )


def _verify_context(handle: LegHandle, engine: Engine, plan: Plan) -> VerifyContext:
    root = _root_of(plan)
    return VerifyContext(
        partner=engine.partner,
        limits=engine.limits,
        files=engine.files.within(root),
        clock=utc_now,
        duplicates=DuplicateCache(engine.stop, make_room=engine.workers.make_room) if handle.dedupe else None,
        is_as_planned=plan.catalog_kind == INGEST,
    )


def _root_of(plan: Plan) -> str | None:
    return None if plan.catalog_root is None else path_of(plan.catalog_root, "/")


_processes = WorkerProcesses()


def verify_granted(
    handle: LegHandle, granted: GrantedSlice, link: Callable[[], IsOver], read_block: ReadBlock | None = None
) -> SliceResult:
    """Verify a slice of a leg that another process holds; ConfigError or ResultsError, with the machine, if not."""
    return _processes.of(handle, lambda: _begin(handle, link(), read_block)).verify(granted)


def _begin(handle: LegHandle, is_over: IsOver, read_block: ReadBlock | None) -> tuple[WorkerProcess, Close]:
    refuse_other_version(handle.version)
    pace = handle.settings.pace
    share = {"workers": math.ceil(pace.workers / handle.processes), "first_rate": pace.first_rate / handle.processes}
    settings = handle.settings.model_copy(update={"pace": pace.model_copy(update=share)})
    engine = build_engine(settings, read_block)
    bounds = Bounds(closes_at=handle.bounds.closes_at, max_calls=LAST_PROBE_CALLS)  # others come with slices
    budget = GrantedBudget(bounds, engine.partner.for_control(), engine.stop, utc_now)
    leg = build_context(handle, engine, budget, is_claimant=False)
    refuse_missing_catalog(leg.plan)
    engine.dispatcher.remember(remembered_rate(engine, handle.processes))
    stack = ExitStack()
    stack.callback(engine.close)
    stack.enter_context(lane_sharing(engine, leg.plan).shared())
    drain_seconds = engine.settings.bounds.drain_seconds
    process = WorkerProcess(leg=leg, budget=budget, is_over=is_over, abort=engine.abort, drain_seconds=drain_seconds)
    return process, stack.close


def settle_dead_leg(settings: Settings, run_id: str) -> None:
    """Settle the last leg of a run if its process is gone; RunIsActive if it is alive."""
    results = results_for(settings)
    settle_last_leg(results, results.plan(run_id), utc_now)


_BOUNDS = TypeAdapter(Bounds)


def run_of_retry(settings: Settings, flow_run_id: str | None, bounds: Bounds) -> tuple[str | None, Bounds]:
    """Return the run that a flow run goes on with, and what its leg may spend; None if it begins as for the first time.

    A person's retry goes on with the run that it worked on, and may spend what the flow run might. One that was killed
    has what is left of its bounds. If it had only resumed an older run, it may still plan one of its own.
    RunIsActive if the process that was thought dead is alive.
    """
    results = results_for(settings)
    run_id = None if flow_run_id is None else run_worked_on_by(results, flow_run_id, resumable_since())
    if run_id is None:
        return None, bounds
    settle_last_leg(results, results.plan(run_id), utc_now)
    legs = Legs(results, run_id)
    last, first = legs.holder(legs.last()), legs.holder(1)
    receipt = legs.receipt(legs.last()) or {}
    was_killed = receipt.get("ended_by") == EndedBy.KILLED
    if last is None or not was_killed or last.facts.get("flow_run_id") != flow_run_id:
        return run_id, bounds
    has_planned = first is not None and first.facts.get("flow_run_id") == flow_run_id
    return run_id if has_planned else None, _left_of(last.facts[BOUNDS], receipt)


def _left_of(claimed: object, receipt: dict[str, object]) -> Bounds:
    bounds, counts = _BOUNDS.validate_python(claimed), receipt.get("counts")
    spent = int(counts["calls"]) if isinstance(counts, dict) else 0
    return bounds if bounds.max_calls is None else replace(bounds, max_calls=max(0, bounds.max_calls - spent))
