"""What earlier runs in the same store tell about the next one."""

from datetime import datetime

from proofsweep.batch.forecast import Forecast, forecast
from proofsweep.storage.results import Results

_COLUMNS = ["started_at", "finished_at", "accepted", "rejected", "failed"]


def forecast_for(results: Results, eligible: int, headroom: int | None, quota_reset: datetime | None) -> Forecast:
    """Forecast a run at the pace of the newest leg that sent anything."""
    return forecast(eligible, headroom=headroom, quota_reset=quota_reset, rows_per_second=_newest_pace(results))


def _newest_pace(results: Results) -> float | None:
    for name in reversed(list(results.all_parts("runs"))):
        row = results.table("runs", [name], _COLUMNS).to_pylist()[0]
        rows = (row["accepted"] or 0) + (row["rejected"] or 0) + (row["failed"] or 0)
        if rows and row["started_at"] and row["finished_at"] and row["finished_at"] > row["started_at"]:
            return float(rows / (row["finished_at"] - row["started_at"]).total_seconds())
    return None
