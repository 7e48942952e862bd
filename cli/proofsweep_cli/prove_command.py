"""`proofsweep prove`: the proof of one row, without the others."""

import typer

from proofsweep.settings import load_settings
from proofsweep.wiring.operations import prove as prove_row
from proofsweep.wiring.stores import results_for
from proofsweep_cli.exit_codes import ExitCode
from proofsweep_cli.item_argument import Item, item_of
from proofsweep_cli.options import Config, ResultsUrl
from proofsweep_cli.screen import print_json


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(prove)


def prove(
    item: str = Item,
    *,
    run_id: str | None = typer.Option(None, "--run", metavar="RUN", help="The run; default the newest with a row."),
    results: str | None = ResultsUrl,
    config: str | None = Config,
) -> int:
    """Print what was recorded of one item, with its proof, as one JSON object.

    It holds the row, the way to the Merkle root of its part, and the receipt that names the root: no other row. The
    docs say how to check it without this program. It shows what was recorded; the service signed nothing.

    Example: proofsweep prove masters/track-17.wav --results results > proof.json
    """
    print_json(prove_row(results_for(load_settings(config, results)), item_of(item), run_id))
    return ExitCode.ACCEPTED
