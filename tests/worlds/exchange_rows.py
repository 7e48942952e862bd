"""Rows of `exchanges` for tests of what reads them."""

from datetime import datetime, timedelta

from .core import Plan, Row


def exchange(plan: Plan, row: int | None, call: str = "verify", second: int = 0, **cells: object) -> Row:
    """Make an exchange of the first leg, so many seconds after the run began."""
    began = datetime.fromisoformat(plan.created_at) + timedelta(seconds=second)
    facts: Row = {"run_id": plan.run_id, "leg": 1, "manifest_row": row, "call": call, "attempt": 1, "status": 200}
    facts |= {"started_at": began, "elapsed_ms": 1500.0, "bytes_sent": 1, "request_id": None, "error_code": None}
    return facts | {"failure": None} | cells
