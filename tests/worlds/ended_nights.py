"""Nights in a results store, as runs leave them behind."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from .core import Plan, Results, Row, StoredRun
from .ended_runs import answered, end_leg, plan_of_run, tag_names_of

MONDAY, TUESDAY, WEDNESDAY, THURSDAY = (f"202611{day}T020000Z_000aaaaaa" for day in (16, 17, 18, 19))

ACCEPTED: Row = {"outcome": "accepted", "verdict": "valid"}
REJECTED: Row = {"outcome": "rejected", "verdict": "tampered", "reason": "tampered", "action": "reject"}
FAILED: Row = {"outcome": "failed", "reason": "timeout", "action": "try_again"}
INELIGIBLE: Row = {"outcome": "ineligible", "reason": "empty", "action": "fix_catalog"}


def night(
    results: Results,
    run_id: str,
    rows: Mapping[str, Row],
    *,
    remains: Sequence[str] = (),
    is_noted: bool = False,
    listed: Sequence[str] = (),
    **plan_cells: object,
) -> Plan:
    """Leave a night behind: a row for each item, its row of `runs`, and what is derived from both.

    `listed` are the items of the whole catalog, where the night leaves some out. These items remain.
    """
    plan = plan_of_run(run_id, len(rows) + len(remains), tag_names=tag_names_of(rows.values()), **plan_cells)
    run = StoredRun(results, plan)
    if listed:  # first, as the index takes an old run without a plan for one that never came to be
        run.list_catalog(listed)
    run.write_items([*(str(cells.get("item_id", item)) for item, cells in rows.items()), *remains])
    facts = [answered(plan, number, item) | _cells(item, cells) for number, (item, cells) in enumerate(rows.items())]
    end_leg(results, plan, facts)
    outcomes = [row["outcome"] for row in facts]
    leg: Row = {word: outcomes.count(word) for word in ("accepted", "rejected", "failed", "ineligible")}
    leg |= {"run_id": run_id, "leg": 1, "environment": plan.environment, "ended_by": "complete", "items": plan.items}
    leg |= {"catalog": plan.catalog, "remaining": len(remains), "calls": 2 * len(facts)}
    leg |= {"key_fingerprint": "abcdef012345", "finished_at": datetime.fromisoformat(plan.created_at).astimezone(UTC)}
    run.write_part("runs", [leg])
    if is_noted:
        run.note()
    return plan


def _cells(item: str, cells: Row) -> Row:
    return {"audio_sha256": f"sha of {item}", "relative_path": item, "accepted": cells == ACCEPTED} | cells
