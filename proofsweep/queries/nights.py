"""What the pages show of nights: what each run of a catalog did, and what DuckDB works out over the parts of one."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import duckdb

from proofsweep.config.locations import path_of
from proofsweep.domain.items import Row
from proofsweep.domain.runs import OUTCOMES, Plan
from proofsweep.queries.catalog import Kind, PageChoice, kinds_of, spellings_of
from proofsweep.queries.connection import answering, tables_of
from proofsweep.queries.status import NEED_ATTENTION, RunStatus, newest_runs
from proofsweep.queries.views import key_of, quoted, sql_of, value_of_tag
from proofsweep.store.parts import Results

_MOST_NIGHTS = 31  # of a trend
_POINTS = 120  # of a line
_MOST_ROWS = 10
_OF_RUN = """
    CREATE TEMP VIEW verdicts AS FROM store.verdicts WHERE run_id = {run_id};
    CREATE TEMP VIEW exchanges AS
        SELECT * REPLACE (started_at::TIMESTAMP AS started_at) FROM store.exchanges WHERE run_id = {run_id}
"""
_PACE = sql_of("run_pace")
_GRADES = sql_of("run_grades")
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
_ITEMS = """
    CREATE TEMP TABLE items AS
    SELECT
        coalesce(relative_path, CASE WHEN starts_with(audio, {root}) THEN substr(audio, length({root}) + 1) END, audio)
            AS file,
        audio, item_id, outcome, reason, verify_request_id, NULL::TIMESTAMPTZ AS since, tags
    FROM store.verdicts WHERE run_id = {run_id} AND outcome IN ({open})
"""
_BY_TAG = """
    SELECT
        min(nullif({value}, '')) AS value, count(*) FILTER (outcome = 'rejected'), count(*) FILTER (outcome = 'failed'),
        count(*) FILTER (outcome = 'ineligible')
    FROM items GROUP BY nullif({key}, '') ORDER BY count(*) DESC, value
"""

Standing = tuple[int, int, int]  # files of a catalog: accepted, all, that need attention


@dataclass(frozen=True, slots=True, kw_only=True)
class NightResult:
    run_id: str
    identity: str  # of its catalog
    began: datetime
    accepted: int
    rejected: int
    failed: int
    ineligible: int
    remaining: int
    answered_percent: float | None = None  # of the files of today, when it ended
    calls: int
    seconds: float

    @property
    def checked(self) -> int:
        return self.accepted + self.rejected + self.failed + self.ineligible

    @property
    def minutes(self) -> float:
        return self.seconds / 60


def nights_of(results: Results, environment: str, catalog: str | None) -> list[NightResult]:
    """Read the newest nights of a catalog, or of all of an environment, the oldest first; it opens no table."""
    found = newest_runs(
        results,
        _MOST_NIGHTS,
        lambda plan: plan.environment == environment and catalog in {None, plan.catalog, plan.identity},
    )
    return [
        NightResult(
            run_id=run.plan.run_id,
            identity=run.plan.identity,
            began=datetime.fromisoformat(run.plan.created_at).astimezone(UTC),
            **{outcome: run.rows(outcome) for outcome in OUTCOMES},
            remaining=run.remaining,
            calls=run.total("calls"),
            seconds=run.seconds,
        )
        for run in reversed(found)
        if run.legs
    ]


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


@dataclass(frozen=True, slots=True, kw_only=True)
class RunAttention:
    """The files of a run that need attention."""

    kinds: Sequence[Kind]
    by_tag: Sequence[tuple[str, Sequence[tuple[str | None, int, int, int]]]]  # value, rejected, failed, ineligible


def attention_of(results: Results, run: RunStatus, choice: PageChoice) -> RunAttention:
    """Count the files by what to do about them, and by the chosen tags; UsageError if none has one of these."""
    with tables_of(results) as connection:
        root = "" if run.plan.catalog_root is None else path_of(run.plan.catalog_root, "/").rstrip("/") + "/"
        of_run, needed = quoted(run.plan.run_id), ", ".join(map(quoted, NEED_ATTENTION))
        connection.execute(_ITEMS.format(root=quoted(root), run_id=of_run, open=needed))
        tags = spellings_of(connection, choice) if any(map(run.rows, NEED_ATTENTION)) else {}
        values = {tag: value_of_tag(spellings) for tag, spellings in tags.items()}
        queries = {tag: _BY_TAG.format(value=value, key=key_of(value)) for tag, value in values.items()}
        by_tag = [(tag, connection.execute(query).fetchall()) for tag, query in queries.items()]
        return RunAttention(kinds=kinds_of(connection, "items", tags), by_tag=by_tag)


def standing_of(results: Results, run: RunStatus) -> Standing | None:
    """Return how the catalog stands by the view `coverage`; None of a run that is not its newest whole one."""
    query = "SELECT accepted, files, need_attention FROM coverage WHERE newest_run_id = ?"
    with answering(results, run.plan.environment, "coverage") as connection:
        found: Sequence[Standing] = connection.execute(query, [run.plan.run_id]).fetchall()
    return found[0] if found else None
