"""The one repair: who begins anything first ends the legs of processes that are gone, of runs and operations alike."""

from collections.abc import Callable
from contextlib import nullcontext, suppress
from datetime import datetime

from proofsweep.config.logs import LogEvent, log
from proofsweep.config.threads import some_at_once
from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import ResultsError, RunIsActive
from proofsweep.domain.runs import INGEST, AnyRun, Plan
from proofsweep.store import layout
from proofsweep.store.heartbeat import Signs
from proofsweep.store.legs import Legs
from proofsweep.store.parts import Results
from proofsweep.store.runs import BegunLeg, OperationRecord, RunRecord
from proofsweep.verify.commit import LegParts, finish_leg, settle_leg

_ABANDONED_SECONDS = 3_600  # without a sign of life
# Where a leg's facts have its bounds, for a flow run that goes on with what is left of them. No cell of `runs`.
BOUNDS = "bounds"


def end_dead_legs(
    results: Results, clock: Callable[[], datetime], run: AnyRun | None = None, partition: int | None = None
) -> None:
    """End each open leg whose process is gone; whoever begins something does so, for all runs and operations.

    A leg of another machine is watched for up to 30 s if `run` has to wait for it: its own legs, of one partition or of
    all, and those of other runs of its catalog; or if it has shown no sign of life for an hour, by two clocks that may
    differ. What of this machine is gone is known at once. A leg that cannot be ended now, as its run's plan is damaged,
    stops nobody but those who wait for it.
    """
    runs = results.log.runs()
    records: list[RunRecord | OperationRecord] = [*runs.records.values(), *runs.operations.values()]
    opened = [(record.plan, leg) for record in records for leg in record.open]

    def is_awaited(other: AnyRun, leg: BegunLeg) -> bool:
        return run is not None and _is_awaited(other, leg, run, partition)

    def is_dead(other_leg: tuple[AnyRun, BegunLeg]) -> bool:
        legs = Legs(results, other_leg[0], clock)
        signs = legs.signs_of(other_leg[1])
        may_be_dead = is_awaited(*other_leg) or _seems_gone(signs)
        return may_be_dead and not signs.are_alive(legs.rest)

    are_dead = list(some_at_once(opened, is_dead, max(1, len(opened))))  # each may have to be waited for
    for (other, leg), was_dead in zip(opened, are_dead, strict=True):
        if was_dead:
            with nullcontext() if is_awaited(other, leg) else suppress(ResultsError):
                _end_dead_leg(results, other, leg)


def _is_awaited(other: AnyRun, leg: BegunLeg, run: AnyRun, partition: int | None) -> bool:
    if other.run_id == run.run_id:
        return partition in {None, (leg.leg - 1) % run.partitions}
    if not isinstance(other, Plan) or not isinstance(run, Plan) or INGEST in {other.catalog_kind, run.catalog_kind}:
        return False
    return (other.environment, other.identity) == (run.environment, run.identity)


def _seems_gone(signs: Signs) -> bool:
    shown = signs.shown()
    return shown is None or shown.is_gone or (not shown.holder.is_here and shown.age_seconds > _ABANDONED_SECONDS)


def _end_dead_leg(results: Results, run: AnyRun, leg: BegunLeg) -> None:
    if results.store.read(layout.receipt_name(run.run_id, leg.leg)) is not None:
        finish_leg(results, run, leg.leg)
        return
    facts = {name: fact for name, fact in leg.holder.facts.items() if name != BOUNDS}
    parts = LegParts.found(results, run, leg.leg, leg.holder.writer)
    with suppress(RunIsActive):  # another process ended it meanwhile, or its own did
        settle_leg(parts, EndedBy(leg.ends_as or EndedBy.KILLED), facts, is_given_up=leg.is_given_up)
    log(LogEvent.LEG_TAKEN_OVER, run_id=run.run_id, leg=leg.leg)
