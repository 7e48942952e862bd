"""Begin a leg: make sure that no other is alive, settle one that died, and claim the next number."""

from collections.abc import Callable
from datetime import datetime

from proofsweep.batch.runs import Claim, EndedBy, Plan
from proofsweep.errors import NameTaken, RunIsActive
from proofsweep.logs import Event, log
from proofsweep.storage.legs import Legs
from proofsweep.storage.results import Results
from proofsweep.usecases.settle_leg import LegEnd, settle_leg, write_runs_row

Clock = Callable[[], datetime]


def open_leg(results: Results, plan: Plan, clock: Clock) -> int:
    """Claim the next leg of a run for this process; give its number.

    Raises:
        RunIsActive: another leg is alive; the message names its holder.
    """
    legs = Legs(results, plan.run_id, clock)
    last = max(legs.numbers(), default=0)
    if last:
        finish_last_leg(legs, plan, last)
    try:
        legs.claim(last + 1)
    except NameTaken as taken:
        raise _active(plan, last + 1, legs.holder(last + 1)) from taken
    return last + 1


def finish_last_leg(legs: Legs, plan: Plan, last: int) -> None:
    """See that the leg before is over: publish a dead one's journal, under its own part names.

    Raises:
        RunIsActive: it is alive.
    """
    if legs.receipt(last) is not None:
        write_runs_row(legs.results, plan, legs, last)
        return
    if legs.is_alive(last):
        raise _active(plan, last, legs.holder(last))
    log(Event.LEG_TAKEN_OVER, run_id=plan.run_id, leg=last)
    settle_leg(legs.results, plan, LegEnd(leg=last, ended_by=EndedBy.KILLED), legs)


def _active(plan: Plan, leg: int, holder: Claim | None) -> RunIsActive:
    who = "another process" if holder is None else f"process {holder.pid} on {holder.host}"
    return RunIsActive(f"Leg {leg} of run {plan.run_id} is being worked on by {who}.")
