"""Begin a leg: make sure that no other is alive, settle one that died, and claim the next number."""

from proofsweep.domain.runs import Claim, EndedBy, Plan
from proofsweep.domain.tables.columns import Row
from proofsweep.errors import NameTaken, RunIsActive
from proofsweep.logs import Event, log
from proofsweep.storage.results.journal import delete_journal
from proofsweep.storage.results.legs import Legs
from proofsweep.storage.results.plans_and_parts import Results
from proofsweep.usecases.item.item_work import Clock
from proofsweep.usecases.leg.settle import LegEnd, settle_leg, write_runs_row


def open_leg(results: Results, plan: Plan, clock: Clock, facts: Row) -> int:
    """Claim the next leg of a run for this process; give its number.

    Args:
        results: where the run is.
        plan: of the run.
        clock: gives the time in UTC.
        facts: cells of the `runs` row that only this process knows.

    Raises:
        RunIsActive: another leg is alive; the message names its holder.
    """
    leg = settle_last_leg(results, plan, clock) + 1  # no later one: a rival may have claimed this number meanwhile
    legs = Legs(results, plan.run_id, clock)
    try:
        legs.claim(leg, facts)
    except NameTaken as taken:
        raise _active(plan, leg, legs.holder(leg)) from taken
    return leg


def settle_last_leg(results: Results, plan: Plan, clock: Clock) -> int:
    """See that the last leg is over, and give its number, 0 without one; publish a dead one's journal as its own parts.

    Raises:
        RunIsActive: it is alive.
    """
    legs = Legs(results, plan.run_id, clock)
    last = max(legs.numbers(), default=0)
    if last == 0:
        return 0
    if legs.receipt(last) is not None:  # its process may have ended before it came to the last two steps
        write_runs_row(results, plan, legs, last)
        delete_journal(results, plan.run_id, last)
        return last
    if legs.is_alive(last) or legs.is_heard(last):
        raise _active(plan, last, legs.holder(last))
    holder = legs.holder(last)
    facts = {} if holder is None else holder.facts
    settle_leg(results, plan, LegEnd(leg=last, ended_by=EndedBy.KILLED, facts=facts), legs)
    log(Event.LEG_TAKEN_OVER, run_id=plan.run_id, leg=last)
    return last


def _active(plan: Plan, leg: int, holder: Claim | None) -> RunIsActive:
    who = "another process" if holder is None else f"process {holder.pid} on {holder.host}"
    return RunIsActive(f"Leg {leg} of run {plan.run_id} is being worked on by {who}.")
