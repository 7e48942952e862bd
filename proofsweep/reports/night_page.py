"""The page of a night: what one run did, and what it left to do. One HTML file that needs no network."""

from collections.abc import Sequence
from datetime import datetime

from proofsweep.config.locations import path_of
from proofsweep.domain.runs import Plan
from proofsweep.domain.text import minute_of
from proofsweep.queries.attention_list import kinds_of, spellings_of
from proofsweep.queries.changes import Comparison, run_changes, words_of_cause
from proofsweep.queries.choice import PageChoice
from proofsweep.queries.connection import answering, tables_of
from proofsweep.queries.describe_run import describe_run
from proofsweep.queries.measures import Measures, measures_of
from proofsweep.queries.run_status import NEED_ATTENTION, RunStatus
from proofsweep.queries.views import key_of, quoted, value_of_tag
from proofsweep.reports.charts import Chart, bars, histogram, lines
from proofsweep.reports.run import calls_of, ending_of, notes_of
from proofsweep.reports.templates import template
from proofsweep.store.plans_and_parts import Results

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
_OPEN = ", ".join(map(quoted, NEED_ATTENTION))

Standing = tuple[int, int, int]  # files of a catalog: accepted, all, that need attention


def night_page(
    results: Results,
    run_id: str,
    made_at: datetime,
    choice: PageChoice = PageChoice(),  # noqa: B008 - it is frozen
    *,
    packet: str = "",
) -> str:
    """Write the page of a run; UsageError for an unknown tag, ResultsError for an unknown run."""
    run = describe_run(results, run_id)
    measures, standing = measures_of(results, run.plan), standing_of(results, run)
    with tables_of(results) as connection:
        root = "" if run.plan.catalog_root is None else path_of(run.plan.catalog_root, "/").rstrip("/") + "/"
        connection.execute(_ITEMS.format(root=quoted(root), run_id=quoted(run_id), open=_OPEN))
        tags = spellings_of(connection, choice) if any(map(run.rows, NEED_ATTENTION)) else {}
        values = {tag: value_of_tag(spellings) for tag, spellings in tags.items()}
        queries = {tag: _BY_TAG.format(value=value, key=key_of(value)) for tag, value in values.items()}
        by_tag = [(tag, connection.execute(query).fetchall()) for tag, query in queries.items()]
        kinds = kinds_of(connection, "items", tags)
    return template("night.html.jinja").render(
        run=run,
        sentence=sentence_of_run(run),
        ending=ending_of(run),
        notes=notes_of(run),
        standing=standing,
        earlier=max(standing[2] - _open_rows(run), 0) if standing else 0,
        changes=changes_of(results, run.plan),
        by_tag=by_tag,
        tags=list(tags),
        kinds=kinds,
        calls=calls_of(run),
        quota=_quota_of(run),
        pace=_pace_of(measures),
        grades=_grades_of(measures),
        measures=measures,
        packet=packet,
        results=results.store.url,
        made_at=made_at,
    )


def sentence_of_run(run: RunStatus) -> str:
    found = [f"{run.rows(outcome):,} {outcome}" for outcome in NEED_ATTENTION if run.rows(outcome)]
    rows = "file was" if run.plan.items == 1 else "files were"
    parts = [f"{run.finished:,} of {run.plan.items:,} {rows} checked in this run: {run.rows('accepted'):,} accepted"]
    attention = _open_rows(run)
    parts += [f"{attention:,} {'needs' if attention == 1 else 'need'} attention ({', '.join(found)})"] if found else []
    parts += [f"{run.remaining:,} {'remains' if run.remaining == 1 else 'remain'}"] if run.remaining else []
    return "; ".join(parts) + "."


def _open_rows(run: RunStatus) -> int:
    return sum(map(run.rows, NEED_ATTENTION))


def standing_of(results: Results, run: RunStatus) -> Standing | None:
    """Return how the catalog stands by the view `coverage`; None of a run that is not its newest whole one."""
    query = "SELECT accepted, files, need_attention FROM coverage WHERE newest_run_id = ?"
    with answering(results, run.plan.environment, "coverage") as connection:
        found: Sequence[Standing] = connection.execute(query, [run.plan.run_id]).fetchall()
    return found[0] if found else None


def changes_of(results: Results, plan: Plan) -> tuple[Sequence[tuple[str, str, int]], int]:
    with run_changes(Comparison(results, plan)) as found:
        counts = [(change, words_of_cause(cause), files) for change, cause, files in found.counts()]
        return counts, found.as_before()


def _quota_of(run: RunStatus) -> list[str]:
    known = [leg for leg in run.legs if leg.count("quota_after") is not None]
    if not known:
        return []
    left, reset = known[-1].count("quota_after") or 0, known[-1].quota_reset
    lines = [
        f"{left:,} calls were left in the quota at the end" + (f"; it resets {minute_of(reset)}." if reset else ".")
    ]
    if run.remaining and run.finished:
        needed = round(run.total("calls") / run.finished * run.remaining)
        fits = "which the quota allows" if needed <= left else "more than are left"
        lines.append(f"The {run.remaining:,} rows that remain need about {needed:,} calls, {fits}.")
    return lines


_PACE = {"calls": "uploads and verify", "throttled": "answered 429", "failed": "no usable answer"}
_TIMES = {"uploads": "uploads", "slot": "slot", "verify": "verify"}


def _pace_of(measures: Measures) -> list[Chart]:
    if len(measures.pace) < 2:  # noqa: PLR2004 - of a single point no line is drawn
        return []
    return [
        lines("Calls per second", measures.pace, _PACE, "calls per second"),
        lines("Median time of a call", measures.pace, _TIMES, "milliseconds"),
    ]


def _grades_of(measures: Measures) -> list[Chart]:
    charts = [bars("Files by classification", measures.classifications)] if measures.classifications else []
    charts += [bars("Files by risk category", measures.risks)] if measures.risks else []
    for grade in ("human", "ai", "unknown"):
        rows = [row for row in measures.grades if row["grade"] == grade]
        charts += [histogram(f"Grade {grade}", rows)] if rows else []
    return charts
