"""`proofsweep keys list` and `proofsweep keys rotate`: the partner's API keys."""

from pathlib import Path

import typer

from proofsweep.config.notices import say
from proofsweep.domain.errors import UsageError
from proofsweep.domain.exchanges import Call
from proofsweep.domain.text import counted
from proofsweep.operations.inventory import pages_of
from proofsweep.operations.key_store import KeyStore
from proofsweep_cli.command import CommandRequest, with_request
from proofsweep_cli.exit_codes import ExitCode
from proofsweep_cli.screen import table

_INTERRUPTED = "Stopped. Run the same command within 24 hours: it goes on with this rotation, and begins no second one."
keys_group = typer.Typer(no_args_is_help=True)


@keys_group.command("list")
@with_request(without="results")
def list_all(request: CommandRequest) -> int:
    """List all keys of the partner, with their status as received; no key itself is ever listed.

    The service does not say which of them is in use here. Uses one keyed call.

    Example: `proofsweep keys list --config production`
    """
    app = request.app
    pages = app.service.answer(lambda partner: list(pages_of(Call.KEYS, partner.keys)))
    keys = [key for page in pages for key in page.keys]
    listed = table("key", "name", "status")
    for key in keys:
        listed.add_row(key.key_id or "", key.name or "", key.status or "")
    count = counted(len(keys), "key")
    base_url = app.settings.service.base_url
    line = f"{count} at {base_url} ({app.environment})"
    documents = [key.model_dump() for key in keys]
    document = {"environment": app.environment, "keys": documents}
    request.answer(document, (line, "", listed))
    return ExitCode.ACCEPTED


@keys_group.command()
@with_request()
def rotate(
    request: CommandRequest,
    *,
    new_key_file: Path | None = typer.Option(
        None,
        "--new-key-file",
        metavar="FILE",
        help="Write the new key here, not to the old one's place; must not exist.",
    ),
    yes: bool = typer.Option(False, "--yes", "-y", help="Rotate; without it, only say which key would be replaced."),
) -> int:
    """Replace the API key by a new one; the old one works for 72 more hours.

    The new key is kept beside its place, tested with one call, and then put into the place of the old one. No crash
    loses it: if the command is interrupted, run it again within 24 hours. It never makes a second new key.

    Example: `proofsweep keys rotate --config production --yes`
    """
    app = request.app
    key_store = KeyStore.of(app.settings.service, new_key_file)
    label = app.environment
    if not yes:
        base_url = app.settings.service.base_url
        raise UsageError(
            f"This replaces the key of {label} ({base_url}), and the new one goes to "
            f"{key_store.path}: confirm it with --yes. Nothing was rotated."
        )
    try:
        done = app.rotate_key(key_store)
    # The service may have made the new key already: the same command finds it, and makes no second one.
    except KeyboardInterrupt:
        say(_INTERRUPTED)
        return ExitCode.CANCELLED
    request.answer(done.document(), done.lines())
    return ExitCode.ACCEPTED
