"""`proofsweep compact`: make what is derived from a results store anew."""

from contextlib import nullcontext

import typer

from proofsweep.settings import load_store_settings
from proofsweep.wiring.operations import compact as compact_store
from proofsweep.wiring.stores import results_for
from proofsweep_cli.exit_codes import ExitCode
from proofsweep_cli.options import AsJson, Config, ResultsUrl
from proofsweep_cli.screen import console, counted, print_json


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(compact)


def compact(results: str | None = ResultsUrl, config: str | None = Config, as_json: bool = AsJson) -> int:
    """Rebuild the index of runs and the snapshot of newest answers from the tables.

    Both are kept by `verify` and `resume`. Use this after an update from a version without them, after you deleted them
    or parts of the tables, or when a command asks for it. Runs may go on meanwhile.

    Example: `proofsweep compact --results /data/proofs`
    """
    store = results_for(load_store_settings(config, results))
    out = console(to_stderr=as_json)
    with out.status("reading all parts of the tables …") if out.is_terminal else nullcontext():
        done = compact_store(store)
    if as_json:
        print_json({"runs": done.runs, "legs": done.legs, "snapshot_rows": done.snapshot_rows})
    else:
        runs, legs, rows = counted(done.runs, "run"), counted(done.legs, "leg"), counted(done.snapshot_rows, "row")
        out.print(f"{store.store.url}: the index has {runs} with {legs}, the snapshot {rows}", soft_wrap=True)
    return ExitCode.ACCEPTED
