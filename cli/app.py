"""The `proofsweep` command: its subcommands, and how an error becomes one line and an exit code."""

import sys
from typing import NoReturn

import typer
from typer.exceptions import TyperException

from cli import (
    check_command,
    demo_command,
    doctor_command,
    plan_command,
    runs_commands,
    sandbox_commands,
    verify_commands,
)
from cli.exit_codes import ExitCode, code_of_error
from proofsweep import __version__
from proofsweep.bootstrap.engines import close_engines
from proofsweep.errors import ProofsweepError

_INTERRUPTED = 130
"""What typer makes of a Ctrl-C."""

app = typer.Typer(
    name="proofsweep",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    help="Verify credentialed audio in bulk through the partner's API, and keep verdicts, grades and request IDs.",
    epilog="Exit codes: 0 every row accepted · 3 some rejected or ineligible · 4 some failed · 5 quota · 6 stopped · "
    "7 key refused · 8 service down · 9 another leg is active · 2 usage · 1 our own bug",
)
for module in (
    demo_command,
    doctor_command,
    plan_command,
    verify_commands,
    check_command,
    runs_commands,
    sandbox_commands,
):
    module.add_to(app)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"proofsweep {__version__}")
        raise typer.Exit


@app.callback()
def proofsweep(
    version: bool = typer.Option(False, "--version", callback=_print_version, is_eager=True, help="Print the version."),
) -> None:
    """Verify credentialed audio in bulk through the partner's API."""


def main() -> NoReturn:
    """Run the command line; every foreseen error ends in one line on stderr."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run one command and give its exit code."""
    try:
        code = app(args=arguments, prog_name="proofsweep", standalone_mode=False)
    except TyperException as error:
        told = error.format_message()  # empty when the help was shown for want of arguments
        return _complain(f"{told} (proofsweep --help tells more)", ExitCode.USAGE) if told else ExitCode.USAGE
    except ProofsweepError as error:
        return _complain(error.message, code_of_error(error))
    finally:
        close_engines()
    if code == _INTERRUPTED:
        return _complain("stopped before the run had begun", ExitCode.CANCELLED)
    return code if isinstance(code, int) else ExitCode.ACCEPTED


def _complain(message: str, code: ExitCode) -> int:
    line = " ".join(message.split())
    typer.echo(f"proofsweep: {line}", err=True)
    return code
