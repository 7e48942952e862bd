"""`proofsweep report`: the catalog as it stands, or one run, as an HTML page."""

from datetime import UTC, datetime
from pathlib import Path

import typer

from cli.exit_codes import ExitCode
from cli.options import Config, ResultsUrl
from cli.screen import console
from proofsweep.answers.explain.explain import packet_of_failed_calls
from proofsweep.errors import UsageError
from proofsweep.settings import Settings, load_settings
from proofsweep.wiring.stores import meant_run, results_for, supplier_tag_of


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(report)


def report(
    run_id: str | None = typer.Argument(None, metavar="[RUN]", help="A run; without one, the catalog as it stands."),
    *,
    catalog: str | None = typer.Option(
        None,
        "--catalog",
        metavar="CATALOG",
        help="Without RUN: this catalog, by its location or its `catalog.name`; by default all of the environment.",
    ),
    file: str | None = typer.Option(
        None, "--file", metavar="PATH", help="Where to write it; by default catalog.html or report-RUN.html here."
    ),
    by: list[str] | None = typer.Option(
        None,
        "--by",
        metavar="TAG",
        help="Count by this tag of the manifest, and show it of each file; may be given again. By default the "
        "supplier's tag of the config.",
    ),
    site: str | None = typer.Option(
        None, "--site", metavar="FOLDER", help="Keep a site of all nights in a folder or bucket URL, with a look-up."
    ),
    results: str | None = ResultsUrl,
    config: str | None = Config,
) -> int:
    """Write the catalog as it stands, or a run, as one HTML file that needs no network, for people without a terminal.

    It has the answer first, then what changed, the trend over the nights, each supplier, and what to do about which
    file. A page that is already there is replaced.

    Examples: `proofsweep report` · `proofsweep report 20261122T112144Z_604f5533d --by supplier --file monday.html` ·
    `proofsweep report --site www`
    """
    from proofsweep.answers.report.write_page import write_page  # noqa: PLC0415 - as below

    settings = load_settings(config, results)
    if site is not None:
        return _keep_site(settings, site, by or [], run_id or catalog or file)
    page = _catalog_page(settings, catalog, by or []) if run_id is None else _night_page(settings, run_id, by or [])
    path = Path(file or ("catalog.html" if run_id is None else f"report-{run_id}.html"))
    write_page(path, page)
    console().print(f"{path}: {path.stat().st_size / 1_000:,.0f} kB; open it in a browser.", soft_wrap=True)
    return ExitCode.ACCEPTED


def _catalog_page(settings: Settings, catalog: str | None, tags: list[str]) -> str:
    from proofsweep.answers.report.catalog_page import catalog_page  # noqa: PLC0415 - DuckDB and Altair
    from proofsweep.answers.report.choice import PageChoice  # noqa: PLC0415 - the same

    choice = PageChoice(catalog=catalog, tags=tags, usual_tag=supplier_tag_of(settings))
    return catalog_page(results_for(settings), settings.service.environment, datetime.now(UTC), choice)


def _night_page(settings: Settings, run_id: str, tags: list[str]) -> str:
    from proofsweep.answers.report.choice import PageChoice  # noqa: PLC0415 - DuckDB and Altair
    from proofsweep.answers.report.night_page import night_page  # noqa: PLC0415 - the same

    meant = meant_run(settings, run_id)
    return night_page(
        meant.results,
        meant.plan.run_id,
        datetime.now(UTC),
        PageChoice(tags=tags, usual_tag=supplier_tag_of(settings)),
        packet=packet_of_failed_calls(meant.results, meant.plan),
        screening=settings.screening.conditions,
    )


def _keep_site(settings: Settings, site: str, tags: list[str], chosen: str | None) -> int:
    """Make a site, or bring it up to date; it is of the whole store, so no run can be chosen."""
    from proofsweep.wiring.site import updated_site  # noqa: PLC0415 - DuckDB and Altair

    if chosen is not None:
        raise UsageError(f"--site is of all catalogs and nights: leave out {chosen}.")
    update = updated_site(settings, site, tags=tags)
    console().print(
        f"{site}: {update.files:,} files, of which {update.changed:,} have changed; "
        f"{update.nights:,} pages of nights were written. Open index.html in a browser.",
        soft_wrap=True,
    )
    return ExitCode.ACCEPTED
