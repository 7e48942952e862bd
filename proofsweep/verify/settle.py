"""End a leg, this process's own or a dead one: parts from the journal, then the receipt, then the row in `runs`."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime

from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import NameTaken, RunIsActive
from proofsweep.domain.runs import Plan
from proofsweep.store import layout
from proofsweep.store.journal import Segments
from proofsweep.store.legs import Legs
from proofsweep.store.plans_and_parts import Results
from proofsweep.store.receipts import link_to, newest_receipts
from proofsweep.store.tables.columns import Row
from proofsweep.store.tables.runs import stored_row
from proofsweep.verify.publish import publish_exchanges, publish_rows
from proofsweep.verify.runs_row import count_leg


@dataclass(frozen=True, slots=True, kw_only=True)
class LegEnd:
    """How a leg ended, and what only its own process knows.

    `facts` are cells of the `runs` row: service, key fingerprint, quota, flow run, begin and end.
    """

    leg: int
    ended_by: EndedBy
    why: str | None = None  # one sentence for a person, where it ended early
    facts: Row = field(default_factory=dict)
    cpu_seconds: float | None = None  # that its process used during the leg
    quota_reset: datetime | None = None  # as the service last said
    in_doubt: Sequence[int] = ()  # rows that were tried and remain, sorted; the next leg tries them last


def settle_leg(results: Results, plan: Plan, end: LegEnd, legs: Legs) -> Row:
    """Publish what a leg finished, write its receipt and its row; give the row.

    (1) rows of the journal that are in no part become parts, (2) so do its exchanges, (3) the receipt is written, (4)
    then the row in `runs`, (5) and the journal is deleted. If it breaks off, the next process does all of it again.

    Raises:
        RunIsActive: another process has ended this leg. What that one did not publish of the audit trail now is.
    """
    segments = Segments(results, plan.run_id, end.leg)
    published = publish_rows(results, plan, end.leg, segments, keeps_out=end.ended_by is EndedBy.KILLED)  # (1)
    exchanges = publish_exchanges(results, plan, end.leg, segments)  # (2)
    counts = count_leg(results, plan, end.leg, published.of_leg(end.leg), exchanges)
    row = counts.row | {"remaining": published.remaining, "ended_by": str(end.ended_by)} | end.facts
    times = (counts.row["finished_at"], end.facts.get("finished_at"))  # a clock may have been put back in the leg
    row["finished_at"] = max((each for each in times if isinstance(each, datetime)), default=None)
    end, row = _as_rows_say(end, row)
    receipt = _receipt(results, plan, row, legs) | {
        "parts": [asdict(part) for part in (*published.of_leg(end.leg), *exchanges)],
        "duplicates": counts.duplicates,
        "control_calls": counts.control_calls,
        "why": end.why,
        "cpu_seconds": end.cpu_seconds,
        "quota_reset": end.quota_reset,
        "in_doubt": list(end.in_doubt),
    }
    try:
        legs.write_receipt(end.leg, receipt)  # (3)
    except NameTaken as taken:
        segments.delete()
        raise RunIsActive(f"Leg {end.leg} of run {plan.run_id} was taken over by another process.") from taken
    write_runs_row(results, plan, legs, end.leg)  # (4)
    segments.delete()  # (5)
    return row


def write_runs_row(results: Results, plan: Plan, legs: Legs, leg: int) -> None:
    """Write a settled leg's row as its receipt has it, unless it is there."""
    receipt = legs.receipt(leg) or {}
    cells = receipt.get("counts")
    if isinstance(cells, dict):
        with suppress(NameTaken):
            results.create_part(layout.runs_name(plan.run_id, plan.run_date, leg), "runs", [stored_row(cells)])


def _as_rows_say(end: LegEnd, row: Row) -> tuple[LegEnd, Row]:
    if row["remaining"] == 0:  # a request to stop came too late
        return end, row | {"ended_by": str(EndedBy.COMPLETE)}
    if end.ended_by is EndedBy.COMPLETE:
        end = replace(end, ended_by=EndedBy.ERROR, why="Rows remain, and nothing says why.")
    return end, row | {"ended_by": str(end.ended_by)}


def _receipt(results: Results, plan: Plan, row: Row, legs: Legs) -> dict[str, object]:
    leg, store = int(str(row["leg"])), results.store
    before = [layout.receipt_name(plan.run_id, leg - 1)] if leg > 1 else []
    held = [*link_to(store, before), *map(asdict, newest_receipts(store, plan.run_id))]
    return {
        "run_id": plan.run_id,
        "leg": leg,
        "ended_by": row["ended_by"],
        "counts": row,
        "plan_sha256": results.plan_digest(plan.run_id),
        "previous_receipt_sha256": legs.receipt_digest(leg - 1) if leg > 1 else None,
        "earlier_receipts": held,
    }
