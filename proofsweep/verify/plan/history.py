"""What earlier legs in the same store took for a forecast of the next leg."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from itertools import islice

import pyarrow.compute as pc

from proofsweep.model import layout
from proofsweep.model.exchanges import Call
from proofsweep.model.forecast import Forecast, Measurement, Need, Quota, forecast
from proofsweep.model.run_records import LegRecord
from proofsweep.model.runs import Plan
from proofsweep.model.tables.runs import stored_row
from proofsweep.store.plans_and_parts import Results
from proofsweep.store.run_index import RunIndex

# chosen: enough legs to even out a bad night.
_LEGS = 10


def measured_legs(results: Results, environment: str) -> list[Measurement]:
    """Measure the newest legs that sent anything to this environment; the newest first."""
    legs = newest_legs(results, environment)
    return list(islice((found for each in legs if (found := _measured(results, *each)) is not None), _LEGS))


def newest_legs(results: Results, environment: str) -> Iterator[tuple[Plan, LegRecord]]:
    """Return the legs that have ended in an environment, the newest first, each with its plan."""
    runs = (run for run in RunIndex(results).refreshed().newest_first() if run.plan.environment == environment)
    return ((run.plan, leg) for run in runs for leg in reversed(run.legs))


def _measured(results: Results, plan: Plan, leg: LegRecord) -> Measurement | None:
    row = stored_row(dict(leg.counts))
    rows = sum(_number(row, outcome) or 0 for outcome in ("accepted", "rejected", "failed"))
    rows -= _number(leg.receipt, "duplicates") or 0  # the next catalog may have none
    began, ended = row.get("started_at"), row.get("finished_at")
    if rows <= 0 or not isinstance(began, datetime) or not isinstance(ended, datetime) or ended <= began:
        return None
    cpu_seconds = leg.receipt.get("cpu_seconds")
    share = upload_share(results, plan, leg.leg) if leg.groups is None else leg.upload_share
    return Measurement(
        rows=rows,
        seconds=(ended - began).total_seconds(),
        calls=_number(row, "calls") or 0,
        sent_bytes=_number(row, "bytes_sent") or 0,
        throttled=_number(row, "throttled") or 0,
        cpu_seconds=cpu_seconds if isinstance(cpu_seconds, float) else None,
        upload_share=share,
        quota_spent=_spent(_number(row, "quota_before"), _number(row, "quota_after")),
    )


def _number(cells: Mapping[str, object], name: str) -> int | None:
    found = cells.get(name)
    return found if isinstance(found, int) else None


def upload_share(results: Results, plan: Plan, leg: int) -> float | None:
    """Return which share of a leg's time in exchanges its uploads took, by the first part of its audit trail."""
    name = layout.exchanges_name(plan.run_id, plan.run_date, 0, leg)
    if results.store.read(name) is None:
        return None
    table = results.table("exchanges", [name], ["call", "elapsed_ms"])
    total = pc.sum(table["elapsed_ms"]).as_py()
    slots = pc.sum(table.filter(pc.field("call") == str(Call.SLOT))["elapsed_ms"]).as_py()
    return (slots or 0.0) / total if total else None


def forecast_by_history(
    results: Results, environment: str, *, need: Need, quota: Quota, now: datetime, ask_seconds: float
) -> Forecast:
    """Forecast a run that begins now by what the newest legs took."""
    return forecast(need, quota, measured_legs(results, environment), now, ask_seconds)


def _spent(before: int | None, after: int | None) -> int | None:
    """Return by how much the headroom fell; None where it is not known, or rose."""
    return before - after if before is not None and after is not None and before >= after else None
