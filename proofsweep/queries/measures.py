"""What the charts of a run show: DuckDB works it out over the parts of the run."""

from collections.abc import Sequence
from dataclasses import dataclass

import duckdb

from proofsweep.domain.items import Row
from proofsweep.domain.runs import Plan
from proofsweep.queries.connection import tables_of
from proofsweep.queries.views import quoted
from proofsweep.store.parts import Results

_POINTS = 120  # of a line
_MOST_ROWS = 10
_OF_RUN = """
    CREATE TEMP VIEW verdicts AS FROM store.verdicts WHERE run_id = {run_id};
    CREATE TEMP VIEW exchanges AS
        SELECT * REPLACE (started_at::TIMESTAMP AS started_at) FROM store.exchanges WHERE run_id = {run_id}
"""
_PACE = """
    WITH
        span AS (
            SELECT greatest(epoch(max(started_at) - min(started_at)), 1) AS seconds FROM exchanges
        ),
        width AS (SELECT greatest(1, ceil(seconds / {points}))::INTEGER AS step FROM span)
    SELECT
        time_bucket(to_seconds(step), started_at) AS moment,
        any_value(step) AS step,
        count(*) FILTER (call IN ('uploads', 'verify')) / any_value(step) AS calls,
        count(*) FILTER (status = 429) / any_value(step) AS throttled,
        count(*) FILTER (failure IS NOT NULL OR status >= 500) / any_value(step) AS failed,
        median(elapsed_ms) FILTER (call = 'uploads' AND status < 300) AS uploads,
        median(elapsed_ms) FILTER (call = 'slot' AND status < 300) AS slot,
        median(elapsed_ms) FILTER (call = 'verify' AND status < 300) AS verify
    FROM exchanges, width
    GROUP BY moment ORDER BY moment
"""
_GRADES = """
    SELECT grade, least(floor(value * 10), 9) / 10 AS tenth, count(*) AS files
    FROM (
        UNPIVOT (SELECT grade_human AS human, grade_ai AS ai, grade_unknown AS unknown FROM verdicts)
        ON human, ai, unknown INTO NAME grade VALUE value
    )
    WHERE value BETWEEN 0 AND 1 GROUP BY ALL ORDER BY ALL
"""
_LABELS = """
    SELECT {column} AS label, count(*) AS files
    FROM verdicts WHERE label IS NOT NULL
    GROUP BY ALL ORDER BY files DESC, label LIMIT {most}
"""
_SLOWEST = """
    SELECT audio, (coalesce(slot_ms, 0) + coalesce(upload_ms, 0) + coalesce(verify_ms, 0)) / 1000 AS seconds
    FROM verdicts WHERE seconds > 0
    ORDER BY seconds DESC, audio LIMIT {most}
"""
_RETRIED = "SELECT audio, calls FROM verdicts WHERE calls > 2 ORDER BY calls DESC, audio LIMIT {most}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measures:
    pace: Sequence[Row]  # `moment` (UTC), `step` (s), counts a second, and median milliseconds of the kinds of calls
    grades: Sequence[Row]  # `grade` (human, ai, unknown), `tenth` (0.0 to 0.9), `files`
    classifications: Sequence[Row]  # `label`, `files`; the most frequent first
    risks: Sequence[Row]  # the same for the grade's risk category
    slowest: Sequence[Row]  # `audio`, `seconds`
    retried: Sequence[Row]  # `audio`, `calls`; files that took more than two


def measures_of(results: Results, plan: Plan) -> Measures:
    with tables_of(results) as database:
        database.execute(_OF_RUN.format(run_id=quoted(plan.run_id)))
        return Measures(
            pace=_rows(database, _PACE.format(points=_POINTS)),
            grades=_rows(database, _GRADES),
            classifications=_rows(database, _LABELS.format(column="classification", most=_MOST_ROWS)),
            risks=_rows(database, _LABELS.format(column="grade_risk_category", most=_MOST_ROWS)),
            slowest=_rows(database, _SLOWEST.format(most=_MOST_ROWS)),
            retried=_rows(database, _RETRIED.format(most=_MOST_ROWS)),
        )


def _rows(database: duckdb.DuckDBPyConnection, query: str) -> list[Row]:
    return list(database.sql(query).to_arrow_table().to_pylist())
