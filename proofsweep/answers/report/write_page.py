"""Write the report of a run as one HTML file that needs no network."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

import itables
import pandas as pd
from itables.javascript import generate_init_offline_itables_html
from markupsafe import Markup

from proofsweep import __version__
from proofsweep.answers.attention import AttentionGroup, attention_groups
from proofsweep.answers.describe_run import describe_run
from proofsweep.answers.report import charts
from proofsweep.answers.report.charts import Measures, measures_of
from proofsweep.answers.report.templates import template
from proofsweep.answers.run_changes import Comparison, run_changes, words_of_cause
from proofsweep.answers.run_status import NEED_ATTENTION, RunStatus
from proofsweep.answers.summary import advice_for, calls_of, ending_of, label_of, notes_of
from proofsweep.answers.views.connection import answering
from proofsweep.answers.views.screening import NO_SCREENING
from proofsweep.answers.views.selected_rows import SelectedRows
from proofsweep.contract.verdicts import MEANING_OF_VALID
from proofsweep.errors import ResultsError, UsageError
from proofsweep.files.locations import path_of, path_within
from proofsweep.model.run_records import OUTCOMES
from proofsweep.model.tables.columns import Row
from proofsweep.store.plans_and_parts import Results
from proofsweep.text import minute_of, printable


@dataclass(frozen=True, slots=True)
class Standing:
    """Counts of files."""

    files: int
    accepted: int
    need_attention: int
    is_of_catalog: bool  # whether they are of the whole catalog, as the newest run over it left it; else of a run alone


def standing_of(results: Results, run: RunStatus) -> Standing:
    """Return how the catalog stands by the view `coverage`; of a run that is not its newest, how the run ended."""
    query = "SELECT files, accepted, need_attention FROM coverage WHERE newest_run_id = ?"
    with answering(results, run.plan.environment, "coverage") as connection:
        found = connection.execute(query, [run.plan.run_id]).fetchall()
    for files, accepted, need_attention in found:
        return Standing(files, accepted, need_attention, is_of_catalog=True)
    return Standing(run.plan.items, run.rows("accepted"), sum(map(run.rows, NEED_ATTENTION)), is_of_catalog=False)


def changes_of(results: Results, run: RunStatus) -> tuple[Sequence[tuple[str, str, int]], int]:
    """Return how many files changed in a run, by change and cause in words, and how many are as before."""
    with run_changes(Comparison(results, run.plan)) as found:
        counts = [(change, words_of_cause(cause), files) for change, cause, files in found.counts()]
        return counts, found.as_before()


_LINES = {
    "calls": {"calls": "uploads and verify", "throttled": "answered 429", "failed": "no usable answer"},
    "milliseconds": {"uploads": "uploads", "slot": "slot", "verify": "verify"},
}
"""The lines of each chart over time."""
_BEGINNING = b"<!doctype html>"


def page_of(
    results: Results, run_id: str, tag: str | None, packet: str, screening: Mapping[str, str] = NO_SCREENING
) -> str:
    """Write the page of a run; `packet` is what the partner's support needs of it, empty if every call succeeded."""
    run = describe_run(results, run_id)
    selected = SelectedRows(results=results, environment=run.plan.environment, plan=run.plan, outcomes=NEED_ATTENTION)
    attention = sum(run.rows(outcome) for outcome in NEED_ATTENTION)
    measures = measures_of(results, run.plan, screening)
    table, left_out = attention_table(selected, attention)
    return template("page.html.jinja").render(
        run=run,
        ending=ending_of(run),
        notes=notes_of(run),
        calls=calls_of(run),
        standing=standing_of(results, run),
        outcomes=[*((outcome, run.rows(outcome)) for outcome in OUTCOMES), ("remaining", run.remaining)],
        changes=changes_of(results, run),
        groups=[(label_of(group), advice_for(group), group) for group in run.groups],
        attention=attention,
        suppliers=_by_value(selected, tag) if tag else [],
        tag=tag,
        quota=_quota_of(run),
        charts=_charts_of(measures),
        measures=measures,
        table=Markup(table),  # noqa: S704 - itables escapes the cells
        left_out=left_out,
        packet=packet,
        meaning=MEANING_OF_VALID,
        results=results.store.url,
        made_at=minute_of(datetime.now(UTC)),
        version=__version__,
    )


def write_page(path: Path, page: str) -> None:
    """Put a page in its place, whole; a page that is there is replaced, since all of it is derived.

    UsageError if another file is there; it stays. ResultsError if it cannot be written.
    """
    scratch = path.with_name(f".{path.name}.part")
    try:
        _refuse_other_file(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        scratch.write_text(page, encoding="utf-8")
        scratch.replace(path)
    except OSError as error:
        with suppress(OSError):  # what hindered the writing may hinder this too
            scratch.unlink(missing_ok=True)
        because = error.strerror or "unknown error"
        raise ResultsError(f"The report cannot be written to {printable(str(path))} ({because}).") from error


def _refuse_other_file(path: Path) -> None:
    if not path.is_file():
        return
    with path.open("rb") as file:
        if file.read(len(_BEGINNING)) != _BEGINNING:
            raise UsageError(f"{printable(str(path))} is no page and is not replaced. Name another with --file.")


def _by_value(selected: SelectedRows, tag: str) -> list[tuple[str | None, list[AttentionGroup]]]:
    groups = attention_groups(selected, 1, tag)
    values = dict.fromkeys(group.value for group in groups)
    return [(value, [group for group in groups if group.value == value]) for value in values]


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


def _charts_of(measures: Measures) -> dict[str, Markup]:
    """Draw what there is to draw; of a single point no line is drawn."""
    drawn: dict[str, str] = {}
    if len(measures.pace) > 1:
        drawn["calls"] = charts.lines(measures.pace, _LINES["calls"], "calls per second")
        drawn["milliseconds"] = charts.lines(measures.pace, _LINES["milliseconds"], "milliseconds, median")
    for name in ("classifications", "risks"):
        if rows := getattr(measures, name):
            drawn[name] = charts.bars(rows)
    if measures.grades:
        drawn["grades"] = charts.histograms(measures.grades)
    return {name: Markup(svg) for name, svg in drawn.items()}  # noqa: S704 - Vega escapes its texts


# Some megabyte of text, so that the whole page stays below three.
_MOST_FILES = 5_000
_LONGEST_NAME = 200

_COLUMNS = ["audio", "outcome", "reason", "verify_request_id", "tags"]


def attention_table(selected: SelectedRows, rows: int) -> tuple[str, int]:
    """Return the table of these rows as HTML, and how many it leaves out; ResultsError if the store cannot be read."""
    chosen = list(islice(_entries(selected), _MOST_FILES))
    if not chosen:
        return "", 0
    library = generate_init_offline_itables_html(Path(itables.options.dt_bundle)).partition("<noscript>")[0] + "</div>"
    table = itables.to_html_datatable(
        pd.DataFrame(chosen).loc[:, lambda frame: (frame != "").any()],  # no column without a word
        connected=False,
        allow_html=False,
        maxBytes=0,
        showIndex=False,
        table_id="attention",
        column_filters="header",
        lengthMenu=[25, 100, 1000],
        layout={"topStart": "search", "topEnd": "pageLength", "bottomStart": "info", "bottomEnd": "paging"},
        classes="display compact",
        style="width:100%",
        display_logo_when_loading=False,
    )
    return library + table, max(rows - len(chosen), 0)


def _entries(selected: SelectedRows) -> Iterator[dict[str, str]]:
    for plan, table in selected.tables(_COLUMNS):
        root = "" if plan.catalog_root is None else path_of(plan.catalog_root, "/")
        yield from (_entry(row, root) for row in table.to_pylist())


def _entry(row: Row, root: str) -> dict[str, str]:
    audio, reason = str(row["audio"]), str(row["reason"] or "")
    return {
        "file": _shortened(path_within(audio, root) if root else audio),
        "outcome": str(row["outcome"]),
        "reason": _shortened(reason),
        "tags": _shortened(", ".join(f"{name}: {cell}" for name, cell in json.loads(str(row["tags"] or "{}")).items())),
        "request ID": _shortened(str(row["verify_request_id"] or "")),
    }


def _shortened(text: str) -> str:
    """Write text on one line; of a very long name the end counts."""
    line = printable(text)
    return line if len(line) <= _LONGEST_NAME else "…" + line[-_LONGEST_NAME:]
