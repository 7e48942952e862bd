"""`proofsweep overview`: how all accounts, catalogs, keys and machines stand, on one screen."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import typer
from rich.console import Console
from rich.table import Table

from proofsweep.answers.overview.tables import FIGURES, notes_of, tables_of
from proofsweep.answers.overview.values import Overview
from proofsweep.settings import load_accounts
from proofsweep.wiring.overviews import names_of_stores, overview_for
from proofsweep_cli.exit_codes import ExitCode
from proofsweep_cli.options import AsJson, Config, ResultsUrl
from proofsweep_cli.prefect_schedule import prefect_schedule
from proofsweep_cli.screen import console, print_json, styled

_Html = typer.Option(None, "--html", metavar="FILE", help="Write it as a page, too; a page that is there is replaced.")


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(overview)


def overview(
    *,
    html: Path | None = _Html,
    results: str | None = ResultsUrl,
    config: str | None = Config,
    as_json: bool = AsJson,
) -> int:
    """Show how all accounts stand: catalogs, active legs, keys and machines, and what runs next.

    Without --account it shows all accounts of the config, wherever their stores are. It makes no call to a service; the
    next runs and the workers are those of the Prefect server that is configured, if there is one.

    Example: `proofsweep overview --html overview.html`
    """
    accounts = load_accounts(config, results)
    with ThreadPoolExecutor(1) as pool:
        schedule = pool.submit(prefect_schedule)
        found = overview_for(accounts, datetime.now(UTC), schedule.result)
    if html is not None:
        from proofsweep.answers.overview.page import overview_page  # noqa: PLC0415 - it brings the templates
        from proofsweep.answers.report.write_page import write_page  # noqa: PLC0415 - the same

        write_page(html, overview_page(found, names_of_stores(accounts)))
    if as_json:
        print_json(found.document())
    else:
        _print(console(), found)
    return ExitCode.ACCEPTED


def _print(out: Console, found: Overview) -> None:
    for each in tables_of(found):
        out.print(styled(each.title, "bold"))
        table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
        for name in each.columns:
            table.add_column(name, justify="right" if name in FIGURES else "left", overflow="fold")
        for row in each.rows:
            table.add_row(*(styled(cell, "") for cell in row))
        out.print(table)
        out.print()
    for note in notes_of(found):
        out.print(note, soft_wrap=True)
