"""A small store of runs that ended as real ones do: planned, killed, settled, resumed, and one of them pruned."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta

import pyarrow as pa

from proofsweep.audit.prune import find_prunable, prune
from proofsweep.contract.headers import AnswerHeaders
from proofsweep.endings import EndedBy
from proofsweep.model.exchanges import Call, Exchange
from proofsweep.model.items import WorkItem
from proofsweep.model.pruning import Keep
from proofsweep.model.runs import Plan
from proofsweep.model.tables import planned_items, schemas
from proofsweep.model.tables.columns import Row
from proofsweep.model.tables.exchanges import exchange_row
from proofsweep.store.journal import Journal
from proofsweep.store.legs import Legs
from proofsweep.store.listings import Listing, write_gone
from proofsweep.store.plans_and_parts import Results
from proofsweep.verify.leg.note_leg import note_leg
from proofsweep.verify.leg.settle import LegEnd, settle_leg

from ..unit.ended_runs import answered, plan_of_run

NOW = datetime(2026, 11, 20, tzinfo=UTC)
PRUNED, TWO_LEGS, NEWEST = "20250101T120000Z_000aa", "20261101T120000Z_000aa", "20261102T120000Z_000aa"


def planned(results: Results, run_id: str, items: str, shard_items: int = 5) -> Plan:
    """Plan a run of items named by one letter each."""
    shards = -(-len(items) // shard_items)
    plan = plan_of_run(run_id, items=len(items), shard_items=shard_items, shards=shards)
    plan_items(results, plan, items)
    results.write_plan(plan)
    return plan


def plan_items(results: Results, plan: Plan, items: Iterable[str]) -> None:
    """Write the shards of a run of these items."""
    work = [WorkItem(manifest_row=row, item_id=item, audio=f"/c/{item}") for row, item in enumerate(items)]
    for shard in range(plan.shards):
        rows = map(planned_items.planned_row, work[shard * plan.shard_items : (shard + 1) * plan.shard_items])
        results.write_shard(plan.run_id, shard, pa.Table.from_pylist(list(rows), schema=schemas.ITEMS))


def end_leg(
    results: Results, plan: Plan, items: str, rows: Sequence[int], ended_by: EndedBy = EndedBy.COMPLETE
) -> None:
    """Let the next leg of a run finish some rows, and settle it."""
    legs = Legs(results, plan.run_id)
    leg = legs.last() + 1
    legs.claim(leg)
    journal = Journal(results, plan.run_id, leg, "w")
    for row in rows:
        journal.add(*_finished(plan, leg, row, items[row]))
    journal.flush()
    settle_leg(results, plan, LegEnd(leg=leg, ended_by=ended_by), legs)
    note_leg(results, plan)


def list_items(results: Results, run_id: str, items: Iterable[str], plan: Plan | None = None) -> None:
    """Keep what a catalog lists, and what is gone from it if the plan is given, as a plan does that leaves rows out."""
    listing = Listing()
    for number, item in enumerate(items):
        listing.add(WorkItem(manifest_row=number, item_id=item, audio=f"/c/{item}", relative_path=item))
    if plan is not None:
        write_gone(results, run_id, listing, plan.environment, plan.identity)
    listing.write(results, run_id)


def audited_store(results: Results) -> Results:
    """Fill a store: an old run whose answers are superseded and pruned, one of two legs, and a new one."""
    end_leg(results, planned(results, PRUNED, "abcd"), "abcd", range(4))
    two = planned(results, TWO_LEGS, "abcdefgh")
    end_leg(results, two, "abcdefgh", [0, 1, 2, 3], EndedBy.KILLED)
    end_leg(results, two, "abcdefgh", [4, 5, 6, 7])
    prune(results, find_prunable(results, 400, Keep.LATEST, NOW), lambda: NOW)
    end_leg(results, planned(results, NEWEST, "abxyz"), "abxyz", range(5))
    return results


def _finished(plan: Plan, leg: int, row: int, item: str) -> tuple[Row, list[Row]]:
    calls = [Call.UPLOADS, Call.SLOT, Call.VERIFY]
    ids = [f"{plan.run_id}-{leg}-{row}-{call}" for call in calls]
    trail = [
        Exchange(
            call=call,
            attempt=1,
            started_at=datetime.fromisoformat(plan.created_at) + timedelta(seconds=row),
            elapsed_ms=1.5,
            headers=AnswerHeaders(),
            status=200,
            bytes_sent=10,
            request_id=request_id,
        )
        for call, request_id in zip(calls, ids, strict=True)
    ]
    outcome = "rejected" if item == "b" else "accepted"
    cells = {"uploads_request_id": ids[0], "verify_request_id": ids[2]}
    cells |= {"song": f"Song {item}", "grade_human": 0.25, "tags": f'{{"release": "R{row % 2}"}}', "leg": leg}
    cells |= {"proof_id": f"proof-{item}"}
    exchanges = [exchange_row(each, run_id=plan.run_id, leg=leg, manifest_row=row) for each in trail]
    return answered(plan, row, item, outcome, **cells), exchanges
