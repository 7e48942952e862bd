"""`proofsweep export` and `proofsweep report`: rows for people and for the next run, and pages of HTML."""

from datetime import UTC, datetime

import typer

from proofsweep.domain.errors import UsageError
from proofsweep.domain.runs import OUTCOMES
from proofsweep.domain.text import counted, did_you_mean, printable
from proofsweep.queries.selected_rows import SelectedRows
from proofsweep.queries.status import describe_run
from proofsweep.reports.export import Audience, ExportFormat, Target, WrittenReport
from proofsweep.reports.export import export as export_rows
from proofsweep.reports.letters import TOLD_OUTCOMES
from proofsweep_cli.command import CommandRequest, with_request
from proofsweep_cli.exit_codes import ExitCode
from proofsweep_cli.options import By, Catalog, RunId
from proofsweep_cli.screen import console


@with_request()
def export(
    request: CommandRequest,
    run_id: str | None = RunId,
    *,
    only: str | None = typer.Option(
        None,
        "--only",
        metavar="OUTCOMES",
        help="Only these, separated by commas: accepted, rejected, failed, ineligible.",
    ),
    form: str | None = typer.Option(
        None,
        "--format",
        metavar="FORMAT",
        help="csv, xlsx, json, parquet or letter; by default the one of the ending of FILE, else csv.",
    ),
    by: str | None = By,
    internal: bool = typer.Option(
        False, "--internal", help="With --by: all columns, as without it, for people of ours. Do not mail these lists."
    ),
    file: str | None = typer.Option(
        None,
        "--file",
        metavar="FILE",
        help="Where to write: a file, whose ending is that of the format, or a folder, which ends in a slash. By "
        "default here, named after the outcomes: rejected.csv.",
    ),
) -> int:
    """What people read comes first, paths and IDs last. No file is ever overwritten.

    With --by each list is for a supplier, and may be mailed: its files, their outcomes and what is needed in plain
    words, and tags such as title and ISRC; no location, ID or other column of ours. A letter says the same of the
    files that were not accepted. Rows without a supplier are in a file of their own. A supplier's file has the same
    name each week, however its name is spelled.

    Examples: `proofsweep export --only rejected --by supplier` · `proofsweep export --by supplier --format letter
    --file week-48/` · `proofsweep export --file night.xlsx`
    """
    app, outcomes = request.app, _outcomes_in(only)
    default = "report" if only is None else "-".join(outcomes)
    target = Target.of(file, form, f"internal-{default}" if internal and by is not None else default)
    if target.form is ExportFormat.LETTER:
        _refuse_letter(by, is_internal=internal)
        outcomes = [word for word in outcomes if word in TOLD_OUTCOMES]
        target = Target.of(file, form, "letter")
    audience = Audience.US if by is None or internal else Audience.SUPPLIER
    selected = SelectedRows.of(app.results, run_id, app.environment)
    reports = export_rows(selected, outcomes, target, by, audience)
    files = [{"file": str(report.path), "rows": report.rows} for report in reports]
    lines = [_line_of(report, by) for report in reports] or ["There is no such row; nothing was written."]
    request.answer({"files": files, "rows": sum(report.rows for report in reports)}, lines)
    return ExitCode.ACCEPTED


def _line_of(report: WrittenReport, by: str | None) -> str:
    without = f" without {by}" if report.is_without_tag else ""
    return f"{report.path}: {counted(report.rows, 'row')}{without}"


def _refuse_letter(by: str | None, *, is_internal: bool) -> None:
    if by is None:
        raise UsageError("A letter goes to one supplier: give --by TAG with the tag that names it.")
    if is_internal:
        raise UsageError("A letter is for a supplier: leave out --internal, or take another --format.")


def _outcomes_in(only: str | None) -> list[str]:
    given = [word.strip().lower() for word in (only or ",".join(OUTCOMES)).split(",") if word.strip()]
    for word in given:
        if word not in OUTCOMES:
            meant = did_you_mean(word, OUTCOMES)
            raise UsageError(f"--only {printable(word)!r}: no such outcome{meant}; there are {', '.join(OUTCOMES)}.")
    return [word for word in OUTCOMES if word in given]


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

    if catalog and run_id:
        raise UsageError(f"--catalog is of the catalog's page: leave it out, or leave out {printable(run_id)}.")
    app = request.app
    place = file or ("catalog.html" if run_id is None else f"report-{run_id}.html")
    store, now = app.results, datetime.now(UTC)
    if run_id is None:
        facts = catalog_facts(store, app.environment, catalog, tags=by or [])
        page = pages.catalog_page(facts, store.store.url, now)
    else:
        done = run_facts(store, run_id, tags=by or [])
        page = pages.run_page(describe_run(store, run_id), done, store.store.url, now)
    size = pages.write_page(place, page)
    console().line(f"{printable(place)}: {size / 1_000:,.0f} kB; open it in a browser.")
    return ExitCode.ACCEPTED
