"""A small store of runs that ended as real ones do: planned, killed, settled, resumed, and one of them pruned."""

from collections.abc import Sequence
from datetime import UTC, datetime

from .core import Plan, Results, Row, StoredRun, prune_old
from .ended_runs import answered, exchange, plan_of_run

NOW = datetime(2026, 11, 20, tzinfo=UTC)
PRUNED, TWO_LEGS, NEWEST = "20250101T120000Z_000aa", "20261101T120000Z_000aa", "20261102T120000Z_000aa"


def planned(results: Results, run_id: str, items: str) -> Plan:
    """Plan a run of items named by one letter each, five in a batch."""
    plan = plan_of_run(run_id, items=len(items), batch_items=5)
    run = StoredRun(results, plan)
    run.write_items(items)
    run.write_plan()
    return plan


def end_leg(results: Results, plan: Plan, items: str, rows: Sequence[int], ended_by: str = "complete") -> None:
    """Let the next leg of a run finish some rows, and settle it."""
    run = StoredRun(results, plan)
    leg = run.take()
    run.end(leg, ended_by, [_finished(plan, leg, row, items[row]) for row in rows])
    run.note()


def audited_store(results: Results) -> Results:
    """Fill a store: an old run whose answers are superseded and pruned, one of two legs, and a new one."""
    end_leg(results, planned(results, PRUNED, "abcd"), "abcd", range(4))
    two = planned(results, TWO_LEGS, "abcdefgh")
    end_leg(results, two, "abcdefgh", [0, 1, 2, 3], "killed")
    end_leg(results, two, "abcdefgh", [4, 5, 6, 7])
    prune_old(results, 400, NOW)
    end_leg(results, planned(results, NEWEST, "abxyz"), "abxyz", range(5))
    return results


def _finished(plan: Plan, leg: int, row: int, item: str) -> tuple[Row, list[Row]]:
    ids = {call: f"{plan.run_id}-{leg}-{row}-{call}" for call in ("uploads", "slot", "verify")}
    trail = [exchange(plan, row, call, row, leg=leg, request_id=request_id) for call, request_id in ids.items()]
    outcome = "rejected" if item == "b" else "accepted"
    cells = {"uploads_request_id": ids["uploads"], "verify_request_id": ids["verify"]}
    cells |= {"song": f"Song {item}", "grade_human": 0.25, "tags": f'{{"release": "R{row % 2}"}}', "leg": leg}
    return answered(plan, row, item, outcome, proof_id=f"proof-{item}", **cells), trail
