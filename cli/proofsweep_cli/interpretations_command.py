"""`proofsweep interpretations`: ask for the process notes of accepted proofs."""

import typer

from proofsweep.answers.operation_lines import line_of_notes
from proofsweep.logs import set_up_logs
from proofsweep.settings import load_settings
from proofsweep.wiring.operations import refresh_interpretations
from proofsweep_cli.exit_codes import ExitCode
from proofsweep_cli.interrupt import interrupted_by_signals
from proofsweep_cli.key_block import read_block
from proofsweep_cli.options import AsJson, Config, ResultsUrl
from proofsweep_cli.screen import console, print_json


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(interpretations)


def interpretations(
    max_calls: int | None = typer.Option(
        None, "--max-calls", metavar="N", min=1, help="Keyed calls at most; the rest is asked for next time."
    ),
    results: str | None = ResultsUrl,
    config: str | None = Config,
    as_json: bool = AsJson,
) -> int:
    """Ask for the process notes of accepted proofs that have no ready one, and keep them in `interpretations`.

    A pending note is asked for again when the service says, for two minutes at most; then the next time. Notes are
    report-only: they change no verdict. The exit code is 4 if a note could not be had, and 5 or 6 if calls ran out.

    Example: `proofsweep interpretations --max-calls 2000 --config production`
    """
    set_up_logs()
    with interrupted_by_signals():
        done = refresh_interpretations(load_settings(config, results), read_block, max_calls)
    if as_json:
        print_json({"operation_id": done.operation_id, "wanted": done.wanted, **done.states})
    else:
        console().print(line_of_notes(done), soft_wrap=True)
    return ExitCode.FAILED if done.states.get("failed") else ExitCode.ACCEPTED
