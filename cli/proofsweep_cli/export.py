"""`proofsweep export` and `proofsweep report`: rows for people and for the next run, and pages of HTML."""

from collections.abc import Sequence
from datetime import UTC, date, datetime

import typer

from proofsweep.domain.errors import UsageError
from proofsweep.domain.runs import OUTCOMES
from proofsweep.domain.text import counted, did_you_mean, printable
from proofsweep.queries.selected_rows import SelectedRows
from proofsweep.queries.status import describe_run
from proofsweep.reports.export import ExportFormat, Target, WrittenReport
from proofsweep.reports.export import export as export_rows
from proofsweep.reports.languages import Languages
from proofsweep.reports.letters import TOLD_OUTCOMES
from proofsweep_cli.command import CommandRequest, with_request
from proofsweep_cli.exit_codes import ExitCode
from proofsweep_cli.options import Catalog, RunId
from proofsweep_cli.screen import console


@with_request()
def export(
    request: CommandRequest,
    run_id: str | None = RunId,
    *,
    only: str | None = typer.Option(
        None, "--only", metavar="OUTCOMES", help="Only these, as rejected,failed: also accepted and ineligible."
    ),
    form: str | None = typer.Option(
        None,
        "--format",
        metavar="FORMAT",
        help="csv, xlsx, json, parquet or letter; by default the one of the ending of FILE, else csv.",
    ),
    by: str | None = typer.Option(
        None,
        "--by",
        metavar="TAG[=VALUE]",
        help="A file for each value of a tag of the manifest, such as supplier, or for one value: supplier=North.",
    ),
    language: str | None = typer.Option(
        None,
        "--language",
        metavar="LANGUAGE",
        help="With --by: en, de, or a file that ends in .toml; by default that of export.languages, else en.",
    ),
    internal: bool = typer.Option(
        False, "--internal", help="With --by: lists of all columns, for people of ours. Do not mail these."
    ),
    file: str | None = typer.Option(
        None,
        "--file",
        metavar="FILE",
        help="A file with the ending of its format, or a folder, which ends in a slash; by default here.",
    ),
) -> int:
    """What people read comes first, paths and IDs last. No file is ever overwritten.

    With --by each list is for a supplier, and may be mailed: its files, their outcomes and what is needed in plain
    words, and no path, ID or column of ours. A letter says the same of the files that were not accepted. A supplier's
    file has the same name each week.

    Examples: `proofsweep export --file night.xlsx` · `proofsweep export --by supplier --format xlsx --file week-48/` ·
    `proofsweep export --by supplier=North --format letter --language de`
    """
    app = request.app
    outcomes = _outcomes_in(only)
    named_outcomes = None if only is None else outcomes
    target = _target_of(file, form, named_outcomes, is_internal=internal and by is not None)
    # A letter tells a supplier what is needed: nothing is needed of accepted files.
    if target.form is ExportFormat.LETTER:
        outcomes = [outcome for outcome in outcomes if outcome in TOLD_OUTCOMES]
    languages = None
    if by is None or internal:
        _refuse_for_us(target.form, language, is_internal=internal)
    else:
        languages = Languages.of(app.settings.export.languages, language)
    selected = SelectedRows.of(app.results, run_id, app.environment)
    reports = export_rows(selected, outcomes, target, today=_today(), by=by, languages=languages)
    _answer_reports(request, reports)
    return ExitCode.ACCEPTED


def _today() -> date:
    """Return the day as a letter is dated: where it is written."""
    return datetime.now(UTC).astimezone().date()


def _answer_reports(request: CommandRequest, reports: Sequence[WrittenReport]) -> None:
    files = [{"file": str(report.path), "rows": report.rows} for report in reports]
    rows = sum(report.rows for report in reports)
    lines = [_line_of(report) for report in reports]
    if not lines:
        lines.append("There is no such row; nothing was written.")
    request.answer({"files": files, "rows": rows}, lines)


def _target_of(file: str | None, form: str | None, outcomes: list[str] | None, *, is_internal: bool) -> Target:
    default = "report" if outcomes is None else "-".join(outcomes)
    # Else a list of ours would have the name of the one that is mailed.
    if is_internal:
        default = f"internal-{default}"
    target = Target.of(file, form, default)
    # The ending of FILE may be what makes it a letter.
    if target.form is ExportFormat.LETTER:
        return Target.of(file, form, "letter")
    return target


def _line_of(report: WrittenReport) -> str:
    rows = counted(report.rows, "row")
    line = f"{report.path}: {rows}"
    if report.lacks is not None:
        line = f"{line} without {report.lacks}"
    return line


def _refuse_for_us(form: ExportFormat, language: str | None, *, is_internal: bool) -> None:
    """Refuse what only suppliers read, where a file is for us."""
    refused = None
    if form is ExportFormat.LETTER:
        refused = "A letter"
    elif language is not None:
        refused = "--language"
    if refused is not None:
        what_to_do = "leave out --internal" if is_internal else "give --by TAG with the tag that names it"
        raise UsageError(f"{refused} is for a supplier: {what_to_do}.")


def _outcomes_in(only: str | None) -> list[str]:
    if not only:
        return list(OUTCOMES)
    words = [word.strip().lower() for word in only.split(",")]
    for word in filter(None, words):
        if word not in OUTCOMES:
            meant = did_you_mean(word, OUTCOMES)
            all_outcomes = ", ".join(OUTCOMES)
            raise UsageError(f"--only {printable(word)!r}: no such outcome{meant}; there are {all_outcomes}.")
    return [outcome for outcome in OUTCOMES if outcome in words]


@with_request(without="as_json")
def report(
    request: CommandRequest,
    run_id: str | None = typer.Argument(None, metavar="[RUN]", help="A run; without one, all catalogs as they stand."),
    *,
    catalog: str | None = Catalog,
    file: str | None = typer.Option(
        None,
        "--file",
        metavar="PLACE",
        help="Where to write it, a path or a bucket's URL; by default catalog.html or report-RUN.html here.",
    ),
    by: list[str] | None = typer.Option(
        None,
        "--by",
        metavar="TAG",
        help="Count by this tag of the manifest, and show it of each file; may be given again. By default the "
        "supplier's tag of the config.",
    ),
) -> int:
    """It has the answer first, then what to do about which file. A page that is already there is replaced.

    Examples: `proofsweep report` · `proofsweep report 20261122T112144Z_604f5533d --file monday.html`
    """
    from proofsweep.queries.page_facts import catalog_facts, run_facts  # noqa: PLC0415 - DuckDB
    from proofsweep.reports import pages  # noqa: PLC0415 - Jinja

    # The page of a run is of its catalog: another one would be left out without a word.
    if catalog and run_id:
        raise UsageError(f"--catalog is of the catalog's page: leave it out, or leave out {printable(run_id)}.")
    app = request.app
    store = app.results
    now = datetime.now(UTC)
    tags = by or []
    url = store.store.url
    if run_id is None:
        name = file or "catalog.html"
        of_catalogs = catalog_facts(store, app.environment, catalog, tags=tags)
        page = pages.catalog_page(of_catalogs, url, now)
    else:
        name = file or f"report-{run_id}.html"
        of_run = run_facts(store, run_id, tags=tags)
        page = pages.run_page(describe_run(store, run_id), of_run, url, now)
    size_bytes = pages.write_page(name, page)
    kilobytes = size_bytes / 1_000
    console().line(f"{printable(name)}: {kilobytes:,.0f} kB; open it in a browser.")
    return ExitCode.ACCEPTED
