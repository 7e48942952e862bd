"""`proofsweep keys list` and `proofsweep keys rotate`: the partner's API keys."""

import sys
from collections.abc import Iterator
from pathlib import Path

import typer
from rich.table import Table

from proofsweep.app import App
from proofsweep.domain.errors import UsageError
from proofsweep.domain.text import counted, minute_of
from proofsweep.operations.key_store import key_store_for
from proofsweep.operations.rotations import ListedKey, list_keys, recorded_rotations
from proofsweep_cli.command import open_app
from proofsweep_cli.exit_codes import ExitCode
from proofsweep_cli.options import AsJson, Config, ResultsUrl
from proofsweep_cli.screen import answer, console, print_error, table
from proofsweep_tasks.key_block import BLOCKS

_INTERRUPTED = "Stopped. Run the same command within 24 hours: it goes on with this rotation, and begins no second one."
keys_group = typer.Typer(help="List and rotate the partner's API keys.", no_args_is_help=True)


@keys_group.command("list")
def list_all(results: str | None = ResultsUrl, config: str | None = Config, as_json: bool = AsJson) -> int:
    """List all keys of the partner, with their status as received; no key itself is ever listed.

    The service does not say which of them is in use here. Rotations in the results store do, if they made it. Uses one
    keyed call for each page.

    Example: `proofsweep keys list --config production`
    """
    app = open_app(config, results)
    found = list_keys(app.service.partner, recorded_rotations(app.results), app.service.key_fingerprint)
    document = {"environment": app.environment, "keys": [_json_of(each) for each in found]}
    answer(document, _lines_of(app, found), as_json=as_json)
    return ExitCode.ACCEPTED


@keys_group.command()
def rotate(
    *,
    new_key_file: Path | None = typer.Option(
        None,
        "--new-key-file",
        metavar="FILE",
        help="Write the new key here, not to the old one's place; must not exist.",
    ),
    again: bool = typer.Option(False, "--again", help="Rotate a key that came from a rotation of the last 72 hours."),
    yes: bool = typer.Option(False, "--yes", "-y", help="Rotate without asking; needed without a terminal."),
    results: str | None = ResultsUrl,
    config: str | None = Config,
    as_json: bool = AsJson,
) -> int:
    """Replace the API key by a new one; the old one works for 72 more hours.

    The new key is kept beside its place, tested with one call, and then put into the place of the old one. No crash
    loses it: if the command is interrupted, run it again within 24 hours. It never makes a second new key.

    Example: `proofsweep keys rotate --config production`
    """
    app = open_app(config, results)
    key_store, label = key_store_for(app.settings.service, BLOCKS, new_key_file), app.environment
    if not (yes or sys.stdin.isatty()):
        raise UsageError("There is no terminal to ask on: add --yes to rotate the key.")
    out = console(to_stderr=as_json)
    if not yes:
        out.line(f"Rotates the key of {label} ({app.settings.service.base_url}).")
        out.line(f"The new key goes to {key_store.name}.")
        if typer.prompt(f"Type {label} to go on", err=as_json) != label:
            raise UsageError(f"That is not {label}; nothing was rotated.")
    try:
        done = app.rotate_key(new_key_file, again=again)
    except KeyboardInterrupt:
        print_error(_INTERRUPTED)
        return ExitCode.CANCELLED
    answer(done.document(), done.lines(), as_json=as_json)
    return ExitCode.ACCEPTED


def _lines_of(app: App, found: list[ListedKey]) -> Iterator[str | Table]:
    yield f"{counted(len(found), 'key')} at {app.settings.service.base_url} ({app.environment})"
    yield ""
    keys = table("key", "name", "status", "")
    for each in found:
        record = each.record
        keys.add_row(record.key_id or "", record.name or "", record.status or "", _notes_on(each))
    yield keys
    if all(each.is_in_use is None for each in found):
        yield ""
        yield "Which key is in use here is not known: no rotation of this results store made it."


def _notes_on(key: ListedKey) -> str:
    notes = ["in use here"] if key.is_in_use else []
    if key.expires_at is not None:
        notes.append(f"replaced, ends {minute_of(key.expires_at)}")
    elif key.made_at is not None:
        notes.append(f"made {minute_of(key.made_at)}")
    return "; ".join(notes)


def _json_of(key: ListedKey) -> dict[str, object]:
    return {
        "key_id": key.record.key_id,
        "name": key.record.name,
        "status": key.record.status,
        "in_use": key.is_in_use,
        "made_at": None if key.made_at is None else key.made_at.isoformat(),
        "expires_at": None if key.expires_at is None else key.expires_at.isoformat(),
    }
