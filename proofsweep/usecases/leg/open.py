"""Begin a leg: make sure that no other is alive, claim the next number, and settle the legs that died before it."""

from contextlib import suppress

from proofsweep.domain import layout
from proofsweep.domain.runs import Claim, EndedBy, Plan
from proofsweep.domain.tables.columns import Row
from proofsweep.domain.worker_processes import Orders
from proofsweep.errors import NameTaken, RunIsActive
from proofsweep.logs import Event, log
from proofsweep.storage.results.journal import Segments
from proofsweep.storage.results.legs import Legs
from proofsweep.storage.results.plans_and_parts import Results
from proofsweep.storage.results.worker_messages import WorkerMessages
from proofsweep.usecases.item.item_work import Clock
from proofsweep.usecases.leg.publish import publish_exchanges
from proofsweep.usecases.leg.settle import LegEnd, settle_leg, write_runs_row
from proofsweep.usecases.leg.worker_roll import WorkerRoll, close_workers


def open_leg(results: Results, plan: Plan, clock: Clock, facts: Row) -> int:
    """Claim the next leg of a run for this process; give its number. It must settle the legs before it first.

    Args:
        results: where the run is.
        plan: of the run.
        clock: gives the time in UTC.
        facts: cells of the `runs` row that only this process knows.

    Raises:
        RunIsActive: another leg is alive; the message names its holder.
    """
    legs = Legs(results, plan.run_id, clock)
    leg = _last_inactive(legs, plan) + 1  # no later one: a rival may have claimed this number meanwhile
    try:
        legs.claim(leg, facts)
    except NameTaken as taken:
        raise _active(plan, leg, legs.holder(leg)) from taken
    return leg


def settle_last_leg(results: Results, plan: Plan, clock: Clock) -> None:
    """See that the last leg of a run is over, and settle the legs that died.

    Raises:
        RunIsActive: it is alive.
    """
    last = _last_inactive(Legs(results, plan.run_id, clock), plan)
    settle_legs_before(results, plan, clock, last + 1)


def settle_legs_before(results: Results, plan: Plan, clock: Clock, leg: int) -> None:
    """See that each leg before one has its receipt, its row in `runs`, and no journal.

    (1) let a dead leg's worker processes close, and publish its journal as its own parts, (2) publish the exchanges
    that a leg wrote down after its receipt: its process was taken for dead, and came back; (3) write the rows that the
    last processes did not come to.
    """
    legs = Legs(results, plan.run_id, clock)
    for dead in (number for number in range(1, leg) if legs.receipt(number) is None):
        holder = legs.holder(dead)
        facts = {} if holder is None else holder.facts
        workers = WorkerRoll(WorkerMessages(results.store, plan.run_id, dead))
        close_workers(workers, Orders(is_over=True))  # they may live on, on other machines
        with suppress(RunIsActive):  # another process settled it, or its own did
            settle_leg(results, plan, LegEnd(leg=dead, ended_by=EndedBy.KILLED, facts=facts), legs)  # (1)
        log(Event.LEG_TAKEN_OVER, run_id=plan.run_id, leg=dead)
    for number in map(int, results.store.folders(layout.journals_folder(plan.run_id))):
        segments = Segments(results, plan.run_id, number)
        if number < leg and segments:
            publish_exchanges(results, plan, number, segments)  # (2)
            segments.delete()
    written = set(results.store.names(layout.table_folder("runs", plan.run_date)))
    for number in range(1, leg):
        if layout.runs_name(plan.run_id, plan.run_date, number) not in written:
            write_runs_row(results, plan, legs, number)  # (3)


def _last_inactive(legs: Legs, plan: Plan) -> int:
    last = legs.last()
    if last and legs.is_active(last):
        raise _active(plan, last, legs.holder(last))
    return last


def _active(plan: Plan, leg: int, holder: Claim | None) -> RunIsActive:
    who = "another process" if holder is None else f"process {holder.pid} on {holder.host}"
    return RunIsActive(f"Leg {leg} of run {plan.run_id} is being worked on by {who}.")
