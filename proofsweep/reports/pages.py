"""The pages of a catalog and of a night: one HTML file each, which needs no network."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from proofsweep.config.locations import is_bucket, path_of
from proofsweep.domain.errors import ResultsError, UsageError
from proofsweep.domain.runs import Plan
from proofsweep.domain.text import minute_of, printable
from proofsweep.queries.catalog import CatalogCounts, PageChoice, catalog_facts, kinds_of, spellings_of
from proofsweep.queries.changes import Comparison, run_changes, words_of_cause
from proofsweep.queries.connection import answering, tables_of
from proofsweep.queries.measures import Measures, measures_of
from proofsweep.queries.run_status import NEED_ATTENTION, RunStatus
from proofsweep.queries.runs import environment_in
from proofsweep.queries.status import describe_run
from proofsweep.queries.views import key_of, quoted, value_of_tag
from proofsweep.reports.charts import Chart, bars, histogram, lines, night_bars, night_line
from proofsweep.reports.nights import NightResult, nights_of
from proofsweep.reports.run import calls_of, ending_of, notes_of
from proofsweep.reports.templates import day_of, percent_of, template
from proofsweep.store.objects import open_store
from proofsweep.store.parts import Results

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


def catalog_page(
    results: Results,
    environment: str,
    made_at: datetime,
    choice: PageChoice = PageChoice(),  # noqa: B008 - it is frozen
) -> str:
    """Write the page of the catalogs as they stand; UsageError for an unknown tag, ResultsError if there is no run."""
    label = environment_in(results, environment)
    nights = nights_of(results, label, choice.catalog)
    if not nights and choice.catalog is not None:
        raise ResultsError(f"There is no run of the catalog {printable(choice.catalog)} in {results.store.url}.")
    spans = [("In the last run", "changed")]  # of which changes are shown, in words, each with its table
    spans += [] if choice.since is None else [(f"Since {day_of(choice.since)}", "changed_since")]
    newest = {night.identity: night.run_id for night in nights}
    with catalog_facts(results, label, choice, list(newest.values())) as facts:
        counts, shares = facts.counts(), facts.shares_by([night.run_id for night in nights])
        nights = [replace(night, answered_percent=share) for night, share in zip(nights, shares, strict=False)]
        return template("catalog.html.jinja").render(
            environment_label=label,
            choice=choice,
            counts=counts,
            sentence=sentence_of(counts),
            catalogs=facts.by_catalog(),
            tags=list(facts.tags),
            tables=[facts.by_tag(tag) for tag in facts.tags],
            changes=[(words, facts.turned(table, "broken"), facts.turned(table, "fixed")) for words, table in spans],
            kinds=facts.kinds(),
            nights=nights[::-1],
            charts=trend_of(nights),
            results=results.store.url,
            made_at=made_at,
        )


def sentence_of(counts: CatalogCounts) -> str:
    parts = [
        (
            f"{counts.answered:,} of {counts.files:,} {'file' if counts.files == 1 else 'files'} "
            f"({percent_of(counts.answered, counts.files)} %) {'has' if counts.answered == 1 else 'have'} an answer"
        )
    ]
    attention = f"{counts.need_attention:,} {'needs' if counts.need_attention == 1 else 'need'} attention"
    parts.append(f"{counts.accepted:,} accepted, {attention}")
    parts += [f"{counts.not_sent:,} not sent yet"] if counts.not_sent else []
    parts += [f"{counts.gone:,} {'is' if counts.gone == 1 else 'are'} gone"] if counts.gone else []
    return "; ".join(parts) + "."


_MOST_SECONDS = 120.0
_OUTCOMES = {"accepted": "accepted", "rejected": "rejected", "failed": "failed", "ineligible": "ineligible"}


def trend_of(nights: Sequence[NightResult]) -> list[Chart]:
    if len(nights) < 2:  # noqa: PLR2004 - see above
        return []
    charts = [night_bars("Files checked in each night", nights, _OUTCOMES)]
    if nights[-1].answered_percent is not None:
        charts.append(night_line("Share of today's files with an answer", nights, "%"))
    unit = "seconds" if max(night.seconds for night in nights) < _MOST_SECONDS else "minutes"
    return [
        *charts,
        night_bars("Calls to the service in each night", nights, {"calls": "calls"}),
        night_bars(f"{unit.capitalize()} of work in each night", nights, {unit: unit}),
    ]


_BEGINNING = b"<!doctype html>"


def write_page(place: str, page: str) -> int:
    """Put a page in its place, whole; return its bytes. UsageError if a file that is no page is there; it stays."""
    content = page.encode()
    if is_bucket(place):
        _put(place, content)
    else:
        _write(Path(place), content)
    return len(content)


def _put(url: str, content: bytes) -> None:
    folder, _, name = url.rpartition("/")
    if not name or folder.endswith(("/", ":")):
        raise UsageError(f"{printable(url)} names no page: give a bucket, a slash and a name such as catalog.html.")
    store = open_store(folder, "place of the report")
    _refuse_other(url, store.read(name))
    store.replace(name, content)


def _write(path: Path, content: bytes) -> None:
    scratch = path.with_name(f".{path.name}.part")
    try:
        _refuse_other(str(path), path.read_bytes() if path.is_file() else None)
        path.parent.mkdir(parents=True, exist_ok=True)
        scratch.write_bytes(content)
        scratch.replace(path)
    except OSError as error:
        with suppress(OSError):  # what hindered the writing may hinder this too
            scratch.unlink(missing_ok=True)
        because = error.strerror or "unknown error"
        raise ResultsError(f"The report cannot be written to {printable(str(path))} ({because}).") from error


def _refuse_other(place: str, present: bytes | None) -> None:
    if present is not None and not present.startswith(_BEGINNING):
        raise UsageError(f"{printable(place)} is no page and is not replaced. Name another with --file.")
