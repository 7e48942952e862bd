"""The `proofsweep` command: its subcommands, and how an error becomes one line and an exit code."""

import errno
import os
import sys
from importlib import import_module
from typing import NoReturn

import typer
from typer.exceptions import TyperException

from proofsweep import __version__
from proofsweep.errors import ProofsweepError
from proofsweep_cli.command_list import LINES
from proofsweep_cli.exit_codes import ExitCode, code_of_error, epilog
from proofsweep_cli.screen import console, flush, print_error, show_unknown_letters

_INTERRUPTED = 130
"""The code that typer gives after a Ctrl-C."""

_DISK_IS_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}

_MODULES = {
    "demo": "proofsweep_cli.demo_command",
    "doctor": "proofsweep_cli.doctor_command",
    "plan": "proofsweep_cli.plan_command",
    "verify": "proofsweep_cli.verify_commands",
    "resume": "proofsweep_cli.verify_commands",
    "ingest": "proofsweep_cli.ingest_command",
    "explain": "proofsweep_cli.explain_command",
    "report": "proofsweep_cli.report_command",
    "check": "proofsweep_cli.check_command",
    "status": "proofsweep_cli.status_command",
    "stop": "proofsweep_cli.stop_command",
    "rejects": "proofsweep_cli.rejects_command",
    "export": "proofsweep_cli.export_command",
    "query": "proofsweep_cli.query_command",
    "diff": "proofsweep_cli.diff_command",
    "prune": "proofsweep_cli.prune_command",
    "audit": "proofsweep_cli.audit_commands",
    "alerts": "proofsweep_cli.alerts_commands",
    "keys": "proofsweep_cli.keys_commands",
    "proofs": "proofsweep_cli.proofs_commands",
    "service": "proofsweep_cli.service_commands",
    "sandbox": "proofsweep_cli.sandbox_commands",
}
"""The module of each command. Only the named one is imported, so that each starts quickly."""

_HELP = "Verify credentialed audio in bulk through the partner's API, and keep verdicts, grades and request IDs."


def app_for(arguments: list[str]) -> typer.Typer:
    """Make the command line for these arguments: with the command they name, else with a line for each command."""
    app = _without_commands()
    named = arguments[1:2] if arguments[:1] == ["--"] else arguments[:1]
    if named and named[0] in _MODULES:
        import_module(_MODULES[named[0]]).add_to(app)
        return app
    for name, line in LINES.items():
        app.command(name, help=line)(_listed)
    return app


def whole_app() -> typer.Typer:
    """Make the command line with all commands, as the docs show it."""
    app = _without_commands()
    for module in dict.fromkeys(_MODULES.values()):
        import_module(module).add_to(app)
    return app


def _without_commands() -> typer.Typer:
    app = typer.Typer(
        name="proofsweep",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode="markdown",
        epilog=epilog(),
    )
    app.callback(help=_HELP)(_proofsweep)
    return app


def _listed() -> None:
    """Stand in the list of commands: a command that is named is imported instead."""


def _print_version(wanted: bool) -> None:
    if wanted:
        console().print(f"proofsweep {__version__}")
        raise typer.Exit


def _proofsweep(
    version: bool = typer.Option(False, "--version", callback=_print_version, is_eager=True, help="Print the version."),
) -> None:
    """Read the options that come before a command."""


def main() -> NoReturn:
    """Run the command line; every expected error ends in one line on stderr."""
    show_unknown_letters()
    code = run(sys.argv[1:])
    flush()
    sys.exit(code)


def run(arguments: list[str]) -> int:
    """Run one command and give its exit code."""
    try:
        code = app_for(arguments)(args=arguments, prog_name="proofsweep", standalone_mode=False)
    except TyperException as error:
        message = error.format_message()  # empty when help was shown because there were no arguments
        return _report_error(f"{message} (see: proofsweep --help)", ExitCode.USAGE) if message else ExitCode.USAGE
    except ProofsweepError as error:
        return _report_error(error.message, code_of_error(error))
    except OSError as error:
        if error.errno not in _DISK_IS_FULL:
            raise
        return _report_error(
            f"{os.strerror(error.errno)}: free some, also for temporary files (TMPDIR).", ExitCode.USAGE
        )
    finally:
        _close_engines()
    if code == _INTERRUPTED:
        return _report_error("The run was stopped before it began.", ExitCode.CANCELLED)
    return code if isinstance(code, int) else ExitCode.ACCEPTED


def _close_engines() -> None:
    """Close all connections; a command that opened none has not imported what opens them."""
    if engines := sys.modules.get("proofsweep.wiring.engines"):
        engines.close_engines()


def _report_error(message: str, code: ExitCode) -> int:
    print_error(" ".join(message.split()))
    return code
