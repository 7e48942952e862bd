"""`proofsweep export` and `proofsweep report`: rows for people and for the next run, and pages of HTML."""

from datetime import UTC, datetime
from pathlib import Path

import typer

from proofsweep.domain.errors import UsageError
from proofsweep.domain.runs import OUTCOMES
from proofsweep.domain.text import counted, did_you_mean, printable
from proofsweep.queries.selected_rows import SelectedRows
from proofsweep.queries.status import describe_run
from proofsweep.reports.export import ENDINGS, LETTER, TOLD_OUTCOMES
from proofsweep.reports.export import export as export_rows
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
        None, "--format", metavar="FORMAT", help="csv (the default), xlsx, json, parquet or letter."
    ),
    by: str | None = By,
    file: Path | None = typer.Option(
        None, "--file", metavar="FILE", help="Where to write; by default named here after the outcomes: rejected.csv."
    ),
) -> int:
    """What people read comes first, paths and IDs last. No file is ever overwritten.

    A letter says to a supplier in plain words what is wrong with which files, and what is needed; it names nothing of
    ours. Rows without a supplier are in a letter of their own.

    Examples: `proofsweep export --only rejected --by supplier` · `proofsweep export --by supplier --format letter` ·
    `proofsweep export --format xlsx --file night.xlsx`
    """
    app, form = request.app, _format_of(file, form)
    outcomes, default = _outcomes_in(only), "report" if only is None else "-".join(_outcomes_in(only))
    if form == LETTER:
        if by is None:
            raise UsageError("A letter goes to one supplier: give --by TAG with the tag that names it.")
        outcomes, default = [word for word in outcomes if word in TOLD_OUTCOMES], "letter"
    selected = SelectedRows.of(app.results, run_id, app.environment)
    reports = export_rows(selected, outcomes, file or Path(f"{default}{ENDINGS[form]}"), by)
    files = [{"file": str(each.path), "rows": each.rows} for each in reports]
    lines = [
        f"{each.path}: {counted(each.rows, 'row')}{f' without {by}' if by is not None and each.is_without_tag else ''}"
        for each in reports
    ] or ["There is no such row; nothing was written."]
    request.answer({"files": files, "rows": sum(each.rows for each in reports)}, lines)
    return ExitCode.ACCEPTED


def _outcomes_in(only: str | None) -> list[str]:
    given = [word.strip().lower() for word in (only or ",".join(OUTCOMES)).split(",") if word.strip()]
    for word in given:
        if word not in OUTCOMES:
            meant = did_you_mean(word, OUTCOMES)
            raise UsageError(f"--only {printable(word)!r}: no such outcome{meant}; there are {', '.join(OUTCOMES)}.")
    return [word for word in OUTCOMES if word in given]


def _format_of(file: Path | None, given: str | None) -> str:
    if given is None:
        ending = file.suffix.lower() if file and file.suffix else ".csv"
        form = next((form for form, each in ENDINGS.items() if each == ending), ending)
    else:
        form = given.lower()
    if form not in ENDINGS:
        raise UsageError(f"A report cannot be written as {printable(form)!r}; take {', '.join(ENDINGS)}.")
    return form


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
