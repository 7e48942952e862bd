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
from proofsweep.verify.commit import LegParts, commit_leg, finish_leg

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
    opened: list[tuple[AnyRun, BegunLeg]] = []
    for record in records:
        opened += [(record.plan, leg) for leg in record.open]

    def is_awaited(other: AnyRun, leg: BegunLeg) -> bool:
        return run is not None and _is_awaited(other, leg, run, partition)

    def is_dead(open_leg: tuple[AnyRun, BegunLeg]) -> bool:
        other, leg = open_leg
        legs = Legs(results, other, clock)
        signs = legs.signs_of(leg)
        if not is_awaited(other, leg) and not _seems_gone(signs):
            return False
        return not signs.are_alive(legs.rest)

    # Each may have to be watched for 30 s, so all are watched at once.
    are_dead = list(some_at_once(opened, is_dead, max(1, len(opened))))
    for (other, leg), was_dead in zip(opened, are_dead, strict=True):
        if was_dead:
            with nullcontext() if is_awaited(other, leg) else suppress(ResultsError):
                _end_dead_leg(results, other, leg)


def _is_awaited(other: AnyRun, leg: BegunLeg, run: AnyRun, partition: int | None) -> bool:
    if other.run_id == run.run_id:
        return partition in {None, (leg.leg - 1) % run.partitions}
    if not isinstance(other, Plan) or not isinstance(run, Plan):
        return False
    # A pass holds its folder, and waits for no other run; nor does another run wait for a pass.
    if INGEST in {other.catalog_kind, run.catalog_kind}:
        return False
    return other.environment == run.environment and other.identity == run.identity


def _seems_gone(signs: Signs) -> bool:
    shown = signs.shown()
    if shown is None or shown.is_gone:
        return True
    return not shown.holder.is_here and shown.age_seconds > _ABANDONED_SECONDS


def _end_dead_leg(results: Results, run: AnyRun, leg: BegunLeg) -> None:
    # Its process died between its receipt and its end in the log: what it published stands.
    if results.store.read(layout.receipt_name(run.run_id, leg.leg)) is not None:
        finish_leg(results, run, leg.leg)
        return
    facts = {name: fact for name, fact in leg.holder.facts.items() if name != BOUNDS}
    parts = LegParts.found(results, run, leg.leg, leg.holder.writer)
    ended_by = EndedBy(leg.ends_as or EndedBy.KILLED)
    with suppress(RunIsActive):  # another process ended it meanwhile, or its own did
        commit_leg(parts, ended_by, facts, is_given_up=leg.is_given_up)
    log(LogEvent.LEG_TAKEN_OVER, run_id=run.run_id, leg=leg.leg)
