"""Begin a leg: make sure that no other is alive, claim the next number, and settle the legs that died before it."""

from contextlib import suppress

from proofsweep.endings import EndedBy
from proofsweep.errors import ConfigError, ResultsError, RunIsActive
from proofsweep.logs import Event, log
from proofsweep.model import layout
from proofsweep.model.runs import INGEST, Plan
from proofsweep.model.tables.columns import Row
from proofsweep.store.claims import CatalogClaims
from proofsweep.store.journal import Segments
from proofsweep.store.legs import Legs
from proofsweep.store.plans_and_parts import Results
from proofsweep.store.redactions import redaction_lease
from proofsweep.verify.item.verify_item import Clock
from proofsweep.verify.leg.note_leg import note_leg
from proofsweep.verify.leg.publish import publish_exchanges
from proofsweep.verify.leg.settle import LegEnd, settle_leg, write_runs_row


def open_leg(results: Results, plan: Plan, clock: Clock, facts: Row) -> int:
    """Claim the next leg of a run for this process; give its number. It must settle the legs before it first.

    A run without a leg is superseded if another run of its catalog is worked on, or was since it was planned.

    Args:
        results: where the run is.
        plan: of the run.
        clock: gives the time in UTC.
        facts: cells of the `runs` row that only this process knows.

    Raises:
        RunIsActive: another leg of this run or of its catalog is alive; the message names its holder.
        ResultsError: the run was superseded.
    """
    legs = Legs(results, plan.run_id, clock)
    leg = _claimed(legs, facts)
    try:
        if plan.catalog_kind != INGEST:  # passes hold a claim on their folder, and sweeps yield to them
            claims = CatalogClaims(results, plan.environment, plan.identity, clock)
            claims.claim(plan.run_id, leg, plan.catalog_claim if leg == 1 else None)
    except RunIsActive:
        if leg == 1:
            _end_superseded(results, plan, legs, leg)
        else:
            legs.release(leg)
        raise
    return leg


def supersede(results: Results, plan: Plan, clock: Clock) -> None:
    """End a run that nobody must go on with, by a leg that does nothing.

    Raises:
        RunIsActive: its last leg is alive.
    """
    legs = Legs(results, plan.run_id, clock)
    leg = _claimed(legs, {})
    settle_legs_before(results, plan, clock, leg)
    _end_superseded(results, plan, legs, leg)


def _claimed(legs: Legs, facts: Row) -> int:
    """Claim the next leg of a run."""
    last = legs.last_inactive()
    if last and (legs.receipt(last) or {}).get("ended_by") == EndedBy.SUPERSEDED:
        raise ResultsError(f"Run {legs.run_id} was superseded by another run of its catalog: verify the catalog.")
    legs.claim(last + 1, facts)  # no later one: a rival may have claimed this number meanwhile
    if redaction_lease(legs.results, legs.clock).active_claim() is not None:  # asked last: it asks for legs last, too
        legs.release(last + 1)
        raise RunIsActive("A redaction is at work in this results store: begin when it has ended.")
    return last + 1


def _end_superseded(results: Results, plan: Plan, legs: Legs, leg: int) -> None:
    now = legs.clock()
    facts: Row = {"started_at": now, "finished_at": now}
    settle_leg(results, plan, LegEnd(leg=leg, ended_by=EndedBy.SUPERSEDED, facts=facts), legs)
    note_leg(results, plan)


def settle_last_leg(results: Results, plan: Plan, clock: Clock) -> None:
    """See that the last leg of a run is over, and settle the legs that died.

    Raises:
        RunIsActive: it is alive.
    """
    settle_legs_before(results, plan, clock, Legs(results, plan.run_id, clock).last_inactive() + 1)


def settle_legs_before(results: Results, plan: Plan, clock: Clock, leg: int) -> None:
    """See that each leg before one has its receipt, its row in `runs`, and no journal.

    (1) publish a dead leg's journal as its own parts, (2) publish the exchanges that a leg wrote down after its
    receipt: its process was taken for dead, and came back; (3) write the rows that the last processes did not come to.
    """
    legs = Legs(results, plan.run_id, clock)
    for dead in (number for number in range(1, leg) if legs.receipt(number) is None):
        holder = legs.holder(dead)
        facts = {} if holder is None else holder.facts
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
