"""Runs that somebody must go on with: which they are, and how a catalog goes on."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import datetime, timedelta

from pydantic import TypeAdapter

from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import CatalogError, NothingDue, ProofsweepError, RunMustStop
from proofsweep.domain.runs import INGEST, Bounds, Plan, left_of
from proofsweep.store.completed_rows import CompletedRows
from proofsweep.store.known_rows import are_known_since
from proofsweep.store.legs import Legs, leg_numbers
from proofsweep.store.parts import Results
from proofsweep.store.runs import LegRecord, RunIndex
from proofsweep.verify.attempt import BOUNDS, settle_last_legs, supersede
from proofsweep.verify.item import Clock

RESUME_DAYS = 35.0  # a catalog's unfinished run goes on first if it was planned at most so long ago
_BOUNDS = TypeAdapter(Bounds)


def resumable_since(now: datetime) -> datetime:
    return now - timedelta(days=RESUME_DAYS)


def run_to_resume(results: Results, unfinished: Iterable[Plan], clock: Clock) -> Plan | None:
    """Return the first of some unfinished runs whose remaining rows no other run has finished; None if there is none.

    Those on the way are marked as superseded. RunIsActive if one is worked on.
    """
    for plan in unfinished:
        settle_last_legs(results, plan, clock)
        rest = (item.item_id for item in CompletedRows.load(results, plan).items())
        if plan.catalog_kind == INGEST or not are_known_since(results, plan, rest):  # a pass ends its own runs
            return plan
        supersede(results, plan, clock)
    return None


def runs_in_turn(
    unfinished: Plan | None,
    plan: Callable[[Bounds], Plan],
    bounds: Bounds,
    calls_if_done: Callable[[str], int | None],
    clock: Clock,
) -> Iterator[tuple[str, Bounds]]:
    """Yield the ID and the bounds of each run that is worked on now; the leg of one ends before the next is asked for.

    (1) a catalog's unfinished run, (2) a run of what is due, if calls and time are left. Rows that stay in doubt do not
    stop the second run: they remain for the first one's next leg. The bounds are of both runs together;
    `calls_if_done` returns what the last leg of a run has called, or None if somebody must go on with it. NothingDue if
    there was no run to resume, and no row is due; else what `plan` raises.
    """
    if unfinished is None:
        yield plan(bounds).run_id, bounds  # (2)
        return
    yield unfinished.run_id, bounds  # (1)
    calls = calls_if_done(unfinished.run_id)
    rest = None if calls is None else left_of(bounds, calls, clock())
    if rest is None:
        return
    try:
        due = plan(rest)
    except NothingDue:
        return
    except RunMustStop as stop:
        if stop.ended_by == EndedBy.QUOTA:
            return
        raise
    yield due.run_id, rest  # (2)


def rest_of_retry(
    results: Results, run_id: str, flow_run_id: str, bounds: Bounds, clock: Clock
) -> tuple[str | None, Bounds]:
    """Return the run that a flow run goes on with, which worked on a run before, and what its leg may spend.

    A person's retry goes on with the run that it worked on, and may spend what the flow run might. One that was killed
    has what is left of its bounds. If it had only resumed an older run, it may still plan one of its own: None.
    RunIsActive if the process that was thought dead is alive.
    """
    plan = results.plan(run_id)
    settle_last_legs(results, plan, clock)
    legs = Legs(results.store, run_id)
    holders = {leg: holder for leg in leg_numbers(results.store, plan) if (holder := legs.holder(leg)) is not None}
    own = {leg: holder for leg, holder in holders.items() if holder.facts.get("flow_run_id") == flow_run_id}
    last = max(holders, key=lambda leg: holders[leg].taken_at, default=0)
    noted = holders[last].facts.get(BOUNDS) if last else None
    together = {plan.partition_of_leg(leg): leg for leg in sorted(own) if own[leg].facts[BOUNDS] == noted}
    ended = [LegRecord.of(leg, legs.receipt(leg) or {}) for leg in together.values()]
    if last not in own or not any(leg.ended_by == EndedBy.KILLED for leg in ended):
        return run_id, bounds
    left = _BOUNDS.validate_python(noted)
    if left.max_calls is not None:
        left = replace(left, max_calls=max(0, left.max_calls - sum(leg.count("calls") for leg in ended)))
    has_planned = min(holders) in own
    return run_id if has_planned else None, left


@contextmanager
def away_is_outage(results: Callable[[], Results], environment: str) -> Iterator[None]:
    """Raise RunMustStop if a catalog that was verified before is away or empty: it may not be mounted."""
    try:
        yield
    except CatalogError as error:
        was_verified = False
        with suppress(ProofsweepError):  # a store that cannot be read must not hide what is wrong with the catalog
            was_verified = bool(error.catalog and RunIndex(results()).refreshed().plans(environment, error.catalog))
        if not was_verified:
            raise
        message = f"{error.message}; earlier runs found files there: is it mounted?"
        raise RunMustStop(message, ended_by=EndedBy.BREAKER, catalog=error.catalog) from error
