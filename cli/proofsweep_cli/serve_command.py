"""`proofsweep serve`: the catalog, its runs and what goes on now, as live pages."""

import os
import socket
from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn

import typer

from proofsweep.errors import ConfigError
from proofsweep.settings import load_settings
from proofsweep_cli.exit_codes import ExitCode
from proofsweep_cli.interrupt import interrupted_by_signals
from proofsweep_cli.next_command import next_command
from proofsweep_cli.options import Config, ResultsUrl
from proofsweep_cli.prefect_schedule import prefect_schedule
from proofsweep_cli.resume_by_prefect import resumption_for
from proofsweep_cli.screen import console, flush, print_error

if TYPE_CHECKING:
    from proofsweep.answers.serve.app import SiteApp

_PORT = 8377

# Connections that wait to be accepted. Chosen; not critical.
_BACKLOG = 128


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(serve)


def serve(
    *,
    host: str = typer.Option("127.0.0.1", "--host", metavar="ADDRESS", help="Where to listen; 0.0.0.0 is everywhere."),
    port: int = typer.Option(_PORT, "--port", min=0, max=65_535, help="The port; 0 takes any free one."),
    token_file: str | None = typer.Option(
        None,
        "--token-file",
        metavar="FILE",
        help="A file with the token that permits to stop and resume runs; default from the config (`serve`).",
    ),
    read_only: bool = typer.Option(False, "--read-only", help="Let nobody stop or resume a run, and all others read."),
    results: str | None = ResultsUrl,
    config: str | None = Config,
) -> NoReturn:
    """Serve the catalog, all runs, and how far active runs are, as pages for a browser, until Ctrl-C.

    It reads the results store and writes nothing but requests to stop a run; it holds no key. Without a token nobody
    can stop or resume a run. By default only this machine reaches it.

    Example: `proofsweep serve --token-file token`
    """
    from proofsweep.wiring.serving import site_app  # noqa: PLC0415 - DuckDB and Altair

    settings = load_settings(config, results)
    resumption = resumption_for(settings, lambda run_id: next_command("resume", run_id, config=config, results=results))
    app = site_app(settings, host, resumption, prefect_schedule, token_file=token_file, is_read_only=read_only)
    with _listening(host, port) as listener:
        if app.caution:
            print_error(app.caution)
        _print_address(host, listener.getsockname()[1], settings.serve.url)
        _serve_until_interrupted(app, listener)
    console().print()
    console().print("The server has ended.")
    flush()
    os._exit(ExitCode.ACCEPTED)  # a page that is still being made in a thread would keep the process for seconds


def _listening(host: str, port: int) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except (OSError, UnicodeError) as error:
        number = getattr(error, "errno", None) or 0
        why = os.strerror(number) if number > 0 else "no such address"
        raise ConfigError(f"{host}, port {port} cannot be used ({why}): name others with --host and --port.") from error


def _print_address(host: str, port: int, url: str | None) -> None:
    out, shown = console(), f"[{host}]" if ":" in host else host
    out.print(f"The catalog is served at {url or f'http://{shown}:{port}'}", style="bold", soft_wrap=True)
    out.print("Ctrl-C ends the server.")
    flush()


def _serve_until_interrupted(app: "SiteApp", listener: socket.socket) -> None:
    from proofsweep_cli.web_server import WebServer  # noqa: PLC0415 - not before it is needed

    with interrupted_by_signals(), suppress(KeyboardInterrupt):
        WebServer(app).run([listener])
