"""`proofsweep report`: the catalog as it stands, or one run, as an HTML page."""

from datetime import UTC, datetime

import typer

from proofsweep.config.load import Settings, load_settings
from proofsweep.domain.errors import UsageError
from proofsweep.domain.text import printable
from proofsweep.queries.catalog import PageChoice
from proofsweep.reports.explain import packet_of_failed_calls
from proofsweep.wiring.stores import results_for
from proofsweep_cli.exit_codes import ExitCode
from proofsweep_cli.options import Config, ResultsUrl
from proofsweep_cli.screen import console

_Run = typer.Argument(None, metavar="[RUN]", help="A run; without one, the catalog as it stands.")
_Catalog = typer.Option(
    None,
    "--catalog",
    metavar="CATALOG",
    help="Without RUN: this catalog, by its location or its `catalog.name`; by default all of the environment.",
)
_File = typer.Option(
    None,
    "--file",
    metavar="PLACE",
    help="Where to write it, a path or a bucket's URL; by default catalog.html or report-RUN.html here.",
)
_By = typer.Option(
    None,
    "--by",
    metavar="TAG",
    help="Count by this tag of the manifest, and show it of each file; may be given again. By default the "
    "supplier's tag of the config.",
)
_Since = typer.Option(
    None,
    "--since",
    metavar="DATE",
    formats=["%Y-%m-%d"],
    help="Without RUN: count what broke and what was mended since this UTC day, too.",
)


def report(
    run_id: str | None = _Run,
    *,
    catalog: str | None = _Catalog,
    file: str | None = _File,
    by: list[str] | None = _By,
    since: datetime | None = _Since,
    results: str | None = ResultsUrl,
    config: str | None = Config,
) -> int:
    """Write the catalog as it stands, or a run, as an HTML file that needs no network.

    It has the answer first, then what to do about which file. A page that is already there is replaced.

    Examples: `proofsweep report` · `proofsweep report 20261122T112144Z_604f5533d --file monday.html`
    """
    from proofsweep.reports.pages import write_page  # noqa: PLC0415 - as below

    settings = load_settings(config, results)
    of_catalog = [word for word, value in (("--catalog", catalog), ("--since", since)) if value]
    place = file or ("catalog.html" if run_id is None else f"report-{run_id}.html")
    choice = PageChoice(
        catalog=catalog,
        tags=by or [],
        since=None if since is None else since.date(),
        usual_tag=settings.ingest.supplier_tag,
    )
    if run_id is None:
        size = write_page(place, _catalog_page(settings, choice))
    elif of_catalog:
        raise UsageError(f"{of_catalog[0]} is of the catalog's page: leave it out, or leave out {printable(run_id)}.")
    else:
        size = write_page(place, _night_page(settings, run_id, choice))
    console().print(f"{printable(place)}: {size / 1_000:,.0f} kB; open it in a browser.", soft_wrap=True)
    return ExitCode.ACCEPTED


def _catalog_page(settings: Settings, choice: PageChoice) -> str:
    from proofsweep.reports.pages import catalog_page  # noqa: PLC0415 - DuckDB and Altair

    return catalog_page(results_for(settings), settings.service.environment, datetime.now(UTC), choice)


def _night_page(settings: Settings, run_id: str, choice: PageChoice) -> str:
    from proofsweep.reports.pages import night_page  # noqa: PLC0415 - DuckDB and Altair

    store = results_for(settings)
    packet = packet_of_failed_calls(store, store.plan(run_id))
    return night_page(store, run_id, datetime.now(UTC), choice, packet=packet)
