"""`proofsweep redact`: take the content of one item out of the records."""

import sys
from contextlib import nullcontext

import typer

from proofsweep.errors import UsageError
from proofsweep.settings import load_store_settings
from proofsweep.wiring.operations import redact_item
from proofsweep.wiring.stores import results_for
from proofsweep_cli.exit_codes import ExitCode
from proofsweep_cli.item_argument import Item, item_of
from proofsweep_cli.options import AsJson, Config, ResultsUrl
from proofsweep_cli.screen import console, counted, print_json, styled


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(redact)


def redact(
    item: str = Item,
    *,
    yes: bool = typer.Option(False, "--yes", "-y", help="Redact without asking; needed without a terminal."),
    results: str | None = ResultsUrl,
    config: str | None = Config,
    as_json: bool = AsJson,
) -> int:
    """Remove what the tables say of one item, in all runs. This cannot be undone.

    Its rows stay, so that counts stay right: `item_id` and `audio` say `redacted`, and all that tells of the item is
    null. Digests stay, and a receipt in `_redacted/` names them, so that `audit` still passes. The snapshot and the
    index are made anew. No run and no operation may be at work meanwhile. Repeat the command if it was interrupted.

    Example: proofsweep redact masters/track-17.wav --results results
    """
    if not (yes or sys.stdin.isatty()):
        raise UsageError("There is no terminal to ask on: add --yes to redact.")
    item = item_of(item)
    store, out = results_for(load_store_settings(config, results)), console(to_stderr=as_json)
    out.print(styled(f"{store.store.url}: all that the tables say of {item}", ""), soft_wrap=True)
    if not (yes or typer.confirm("Remove it for ever?", err=as_json)):
        out.print("Nothing was removed.")
        return ExitCode.ACCEPTED
    with out.status("reading all parts of the tables …") if out.is_terminal else nullcontext():
        done = redact_item(store, item)
    objects = [each for redaction in done for each in redaction.objects]
    rows = sum(len(each.rows) for each in objects if each.name.startswith("verdicts/"))
    if as_json:
        print_json({"redactions": [each.number for each in done], "rows": rows, "objects": len(objects)})
    else:
        words = f"{counted(rows, 'row')} of verdicts, in {counted(len(objects), 'object')} of the store"
        out.print(f"Removed: {words}; receipts in _redacted/", soft_wrap=True)
    return ExitCode.ACCEPTED
