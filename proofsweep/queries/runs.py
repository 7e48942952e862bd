"""Which run a person means, and what happens to a leg that another process works on."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from proofsweep.config.locations import one_line
from proofsweep.domain.errors import ResultsError, UsageError
from proofsweep.domain.runs import STALE_SECONDS, Plan
from proofsweep.domain.text import printable
from proofsweep.queries.run_status import RunStatus
from proofsweep.queries.status import active_legs, describe_run
from proofsweep.store.legs import Legs, ask_to_stop, open_leg
from proofsweep.store.parts import Results
from proofsweep.store.progress import OpenLeg
from proofsweep.store.runs import RunIndex, newest_whole

_LOOK_SECONDS = 2.0  # between two looks for a new heartbeat
_STORE_SECONDS = 60.0  # for which a store may fail before the following ends
_START_SECONDS = 60.0  # from the plan to the start of a run: a Prefect server needs some, on a busy machine many


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    uptime: Callable[[], float] = time.monotonic
    rest: Callable[[float], None] = time.sleep


@dataclass(frozen=True, slots=True, kw_only=True)
class StopReport:
    run: RunStatus  # how it stands now
    leg: OpenLeg | None = None  # that was asked; None if there was none to ask
    is_first: bool = False  # whether nobody had asked it before
    has_ended: bool = True


def only_active_run(results: Results) -> str | None:
    """Name the one run that is active; None if none is. UsageError, which names them, if several are."""
    legs = active_legs(results)
    if len(legs) > 1:
        named = "; ".join(f"{leg.run_id} ({leg.where})" for leg in legs)
        raise UsageError(f"{len(legs)} runs are active in {results.store.url}, so name one of them: {named}")
    return legs[0].run_id if legs else None


def next_leg(results: Results, run_id: str, waiting: Waiting = Waiting()) -> None:
    """Return when a process begins the next leg of a run; after a minute if none does."""
    legs, late_at = Legs(results, run_id), waiting.uptime() + _START_SECONDS
    before = legs.last()
    while legs.last() == before and waiting.uptime() < late_at:
        waiting.rest(_LOOK_SECONDS / 2)


def heartbeats_of(results: Results, leg: OpenLeg, waiting: Waiting = Waiting()) -> Iterator[OpenLeg]:
    """Yield a leg as the store shows it, every two seconds, until it has ended or its process is dead.

    Whether it is dead is judged by this process's own clock: another machine's may be wrong. ResultsError if the store
    has failed for a minute.
    """
    legs = Legs(results, leg.run_id)
    changed_at = read_at = waiting.uptime()
    while True:
        yield leg
        waiting.rest(_LOOK_SECONDS)
        now = waiting.uptime()
        try:
            newest = _still_open(legs, leg)
        except ResultsError:
            if now - read_at >= _STORE_SECONDS:
                raise
            continue
        read_at = now
        if newest is None:
            return
        changed_at = now if newest.beaten_at != leg.beaten_at else changed_at
        if not newest.is_alive and now - changed_at > STALE_SECONDS:
            return
        leg = newest


def stop_run(results: Results, run_id: str, wait_seconds: float, waiting: Waiting = Waiting()) -> StopReport:
    """Ask a run's process to stop in good order, even one that seems dead (clocks differ), and wait for its end."""
    run = describe_run(results, run_id)
    leg = run.open_leg
    if leg is None or leg.is_gone:
        return StopReport(run=run)
    legs, is_first, has_ended = Legs(results, run_id), ask_to_stop(results, leg), False
    late_at = waiting.uptime() + wait_seconds
    while not has_ended and waiting.uptime() < late_at:
        waiting.rest(min(_LOOK_SECONDS / 2, wait_seconds))
        has_ended = _still_open(legs, leg) is None
    return StopReport(run=describe_run(results, run_id), leg=leg, is_first=is_first, has_ended=has_ended)


def _still_open(legs: Legs, leg: OpenLeg) -> OpenLeg | None:
    if legs.is_superseded(leg.leg):
        return None
    newest = open_leg(legs, leg.leg, leg.claim)
    return None if newest.is_gone else newest


@dataclass(frozen=True, slots=True, kw_only=True)
class MeantRun:
    results: Results
    plan: Plan
    note: str | None = None  # which of several catalogs it is of; None if there is one, or the run or it was named


def meant_run(results: Results, environment: str, run_id: str | None, catalog: str | None = None) -> MeantRun:
    """Return a run that is named, else the newest whole one; ResultsError if there is none, or several environments."""
    if run_id is not None:
        return MeantRun(results=results, plan=results.plan(run_id))
    environment = environment_in(results, environment)
    index = RunIndex(results).refreshed()
    catalogs = {plan.identity for plan in index.plans(environment)}
    plan = newest_whole(index.plans(environment, catalog))
    if plan is None:
        of_it = "" if catalog is None else f" of the catalog {printable(catalog)}"
        raise ResultsError(f"There is no run{of_it} in {results.store.url}; begin one with: proofsweep verify CATALOG")
    is_one = catalog is not None or len(catalogs) == 1
    of_several = f"of {one_line(plan.identity)}; the store has {len(catalogs)} catalogs (--catalog)."
    note = None if is_one else f"The newest whole run is {plan.run_id}, {of_several}"
    return MeantRun(results=results, plan=plan, note=note)


def environment_in(results: Results, wanted: str) -> str:
    """Return the environment that is wanted if the store has runs of it, else the only one; ResultsError otherwise."""
    found = sorted({run.plan.environment for run in RunIndex(results).refreshed().newest_first()})
    if not found:
        raise ResultsError(f"There is no run in {results.store.url}; begin one with: proofsweep verify CATALOG")
    if wanted in found or len(found) == 1:
        return wanted if wanted in found else found[0]
    raise ResultsError(
        f"{results.store.url} holds runs of the environments {', '.join(found)}, and the settings are for {wanted}: "
        "give the config of one of them, or name a run."
    )
