"""`proofsweep report`: a run as one HTML page."""

from pathlib import Path

import typer

from cli.exit_codes import ExitCode
from cli.options import Config, OfCatalog, ResultsUrl, Run
from cli.screen import console, print_error
from proofsweep.answers.explain.explain import packet_of_failed_calls
from proofsweep.errors import UsageError
from proofsweep.settings import Settings, load_settings
from proofsweep.wiring.stores import meant_run


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(report)


def report(
    run_id: str | None = Run,
    *,
    catalog: str | None = OfCatalog,
    file: str | None = typer.Option(
        None, "--file", metavar="PATH", help="Where to write it; by default report-RUN.html in this folder."
    ),
    by: str | None = typer.Option(None, "--by", metavar="TAG", help="Count what needs attention by a tag, too."),
    site: str | None = typer.Option(
        None, "--site", metavar="FOLDER", help="Keep a site of all nights in a folder or bucket URL, with a look-up."
    ),
    results: str | None = ResultsUrl,
    config: str | None = Config,
) -> int:
    """Write the report of a run: one HTML file that needs no network, for people who do not use this program.

    It has the answer first, then what to do, a table of the files that need attention, and charts of the night. A page
    that is already there is replaced.

    Examples: `proofsweep report` · `proofsweep report --by supplier --file monday.html` · `report --site www`
    """
    from proofsweep.answers.report.write_page import page_of, write_page  # noqa: PLC0415 - pandas, DuckDB and Altair

    settings = load_settings(config, results)
    if site is not None:
        return _keep_site(settings, site, by, run_id or catalog or file)
    meant = meant_run(settings, run_id, catalog)
    if meant.note is not None:
        print_error(meant.note)
    store, run_id = meant.results, meant.plan.run_id
    path = Path(file or f"report-{run_id}.html")
    packet = packet_of_failed_calls(store, meant.plan)
    write_page(path, page_of(store, run_id, by, packet, settings.screening.conditions))
    console().print(f"{path}: {path.stat().st_size / 1_000_000:.1f} MB; open it in a browser.", soft_wrap=True)
    return ExitCode.ACCEPTED


def _keep_site(settings: Settings, site: str, tag: str | None, chosen: str | None) -> int:
    """Make a site, or bring it up to date; it is of the whole store, so no run can be chosen."""
    from proofsweep.wiring.site import updated_site  # noqa: PLC0415 - DuckDB and Altair

    if chosen is not None:
        raise UsageError(f"--site is of all catalogs and nights: leave out {chosen}.")
    update = updated_site(settings, site, tag=tag)
    console().print(
        f"{site}: {update.files:,} files, of which {update.changed:,} have changed; "
        f"{update.nights:,} pages of nights were written. Open index.html in a browser.",
        soft_wrap=True,
    )
    return ExitCode.ACCEPTED
