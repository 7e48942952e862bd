"""Runs as they are left behind in a results store: a plan, a lease, a receipt and parts, with their rows."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from .core import Plan, Results, Row, StoredRun


def plan_of_run(run_id: str, items: int = 1, **otherwise: object) -> Plan:
    """Make a plan; the run began when its ID says."""
    began = datetime.strptime(run_id[:16], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    facts: dict[str, object] = {
        "run_id": run_id,
        "created_at": began.isoformat(),
        "environment": "beta",
        "catalog": "/c/catalog.csv",
        "base_url": "https://partner.example/v1",
        "catalog_kind": "manifest",
        "catalog_digest": "00",
        "items": items,
        "eligible": items,
        "pairs": 0,
        "audio_bytes": 8 * items,
    }
    return Plan(**facts | otherwise)  # type: ignore[arg-type]  # the test's own words


def answered(plan: Plan, row: int, item_id: str, outcome: str = "accepted", **cells: object) -> Row:
    """Make a row of `verdicts`, which ended as many seconds after the run began as its number says."""
    began = datetime.fromisoformat(plan.created_at)
    facts: Row = {"run_id": plan.run_id, "leg": 1, "environment": plan.environment, "manifest_row": row}
    facts |= {"item_id": item_id, "audio": f"/c/{item_id}", "outcome": outcome, "accepted": outcome == "accepted"}
    facts |= {"action": "accept", "verify_attempts": 1, "calls": 2, "finished_at": began.replace(second=row)}
    return facts | cells


def exchange(plan: Plan, row: int | None, call: str = "verify", second: int = 0, **cells: object) -> Row:
    """Make an exchange of the first leg, so many seconds after the run began."""
    began = datetime.fromisoformat(plan.created_at) + timedelta(seconds=second)
    facts: Row = {"run_id": plan.run_id, "leg": 1, "manifest_row": row, "call": call, "attempt": 1, "status": 200}
    facts |= {"environment": plan.environment}
    facts |= {"started_at": began, "elapsed_ms": 1500.0, "bytes_sent": 1, "request_id": None, "error_code": None}
    return facts | {"failure": None} | cells


def tag_names_of(rows: Iterable[Row]) -> list[str]:
    """Name the tags of some rows, as their plan does."""
    return list(dict.fromkeys(name for row in rows for name in json.loads(str(row.get("tags") or "{}"))))


def end_leg(
    results: Results, plan: Plan, rows: Sequence[Row] = (), leg: int = 1, ended_by: str = "complete", **counts: object
) -> None:
    """Leave a leg behind that ended with these rows in a part; `counts` are further cells of its row in `runs`."""
    run = StoredRun(results, replace(plan, tag_names=plan.tag_names or tag_names_of(rows)))
    if results.store.read(f"_runs/{plan.run_id}/plan.json") is None:
        run.write_plan()
    run.take(leg)
    parts = {"parts": [run.write_part("verdicts", [row | {"leg": leg} for row in rows], leg=leg)]} if rows else {}
    outcomes = [str(row["outcome"]) for row in rows]
    cells = {word: outcomes.count(word) for word in ("accepted", "rejected", "failed", "ineligible")}
    cells |= {"remaining": plan.items - len(rows), "run_id": plan.run_id, "leg": leg} | counts
    run.write_receipt(leg, ended_by, counts=cells, duplicates=0, **parts)
