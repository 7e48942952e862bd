"""The `proofsweep` command: its subcommands, and how an error becomes one line and an exit code."""

import os
import sys
from contextlib import suppress
from importlib import import_module
from inspect import getdoc
from typing import NoReturn

import typer
from typer.exceptions import TyperException

from proofsweep import __version__
from proofsweep.config.known_errors import known_error
from proofsweep.config.notices import say
from proofsweep.domain.errors import ProofsweepError
from proofsweep_cli.command import close_app
from proofsweep_cli.exit_codes import ExitCode, code_of_error
from proofsweep_cli.imports import no_garbage_looked_for
from proofsweep_cli.process_end import exit_with
from proofsweep_cli.screen import console, flush, open_closed_streams, show_unknown_letters
from proofsweep_tasks.hanging_reads import hangs_told
from proofsweep_tasks.working_folder import distrust_working_folder

_INTERRUPTED = 130
"""The code that typer gives after a Ctrl-C."""

_RUN = {
    "plan": "Show what a run would take: counts, reasons, bytes, calls, quota, time; and how the catalog is read.",
    "verify": "Verify every audio file of a catalog, and write verdicts, exchanges and runs as Parquet.",
    "resume": "Resume a run that did not end. A finished run does not change: its summary and exit code are given.",
    "status": "Show how all catalogs stand, the active runs, and what is left of the quota; or one run.",
    "stop": "Stop a run in good order from any machine, as Ctrl-C does where it runs: through the results store.",
    "check": "Verify one file, or one pair, now. Nothing is stored; two keyed calls are spent.",
}
_RESULTS = {
    "rejects": "List the files that need attention: rejected, failed or ineligible, why, and what to do.",
    "diff": "Show what changed: files that broke, are fixed, new, gone or otherwise changed, each with the cause.",
    "explain": "Show every call that was made for one file over all runs, its verdicts, and what to do.",
    "report": "Write the catalog as it stands, or a run, as an HTML file that needs no network.",
    "export": "Write a completion report: each file with its outcome, why, what to do, and the request IDs.",
    "query": "Ask the results store in SQL, with DuckDB.",
}
_DELIVERIES = {
    "ingest": "Verify new and changed files of a folder once they are settled, and move them by their verdicts.",
}
_PARTNER = {
    "proofs": "List, recover and erase the proofs that the service holds.",
    "keys": "List and rotate the partner's API keys.",
    "service": "Ask how the service is and what the key has spent, and watch both.",
}
_UPKEEP = {
    "doctor": "Check config, key, service, quota, Prefect, results, pairing, known-good files, and say what to do.",
    "audit": "Check the tables against the receipts, and rows against planned items.",
    "prune": "Delete what old runs hold besides newest answers: verdicts, exchanges, planned items.",
    "alerts": "Tell somebody of what needs a person.",
}
_TRY = {
    "demo": "Start a local partner service, verify a sample catalog against it, and query the results.",
    "sandbox": "Serve a local partner service in the foreground, until Ctrl-C.",
}
_COMMANDS = {
    "Run": _RUN,
    "Results": _RESULTS,
    "Deliveries": _DELIVERIES,
    "Partner": _PARTNER,
    "Upkeep": _UPKEEP,
    "Try": _TRY,
}
"""The first paragraph of each command's help. All commands together take a second to import."""

_MODULES = {
    "resume": "verify",
    "stop": "status",
    "alerts": "service",
    "report": "export",
    "rejects": "results",
    "explain": "results",
    "diff": "results",
    "prune": "store",
    "audit": "store",
}
"""The modules of commands that have none of their name."""

_HELP = "Verify credentialed audio in bulk through the partner's API, and keep verdicts, grades and request IDs."


def app_for(arguments: list[str]) -> typer.Typer:
    """Make the command line for these arguments: with the command they name, else with a line for each command."""
    words = (argument for argument in arguments if not argument.startswith("-"))
    named = next(words, None)
    app = _without_commands()
    for group in _COMMANDS.values():
        if named in group:
            _add(app, named, group[named])
            return app
    for title, group in _COMMANDS.items():
        for name, summary in group.items():
            app.command(name, help=summary, rich_help_panel=title)(_listed)
    return app


def whole_app() -> typer.Typer:
    """Make the command line with all commands, as the docs show it."""
    app = _without_commands()
    for group in _COMMANDS.values():
        for name, summary in group.items():
            _add(app, name, summary)
    return app


def _add(app: typer.Typer, name: str, summary: str) -> None:
    """Add a command or a group; the rest of a command's help is its docstring."""
    module = import_module(f"proofsweep_cli.{_MODULES.get(name, name)}")
    command = getattr(module, name, None)
    text = f"{summary}\n\n{getdoc(command) or ''}"
    if group := getattr(module, f"{name}_group", None):
        app.add_typer(group, name=name, help=text)
    elif command is not None:
        app.command(help=text)(command)


def _without_commands() -> typer.Typer:
    # Typer's own tracebacks can show the values of variables, and a key may be one.
    app = typer.Typer(
        name="proofsweep",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode="markdown",
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


def _restart_in_utf8() -> None:
    """Start this program again if the locale has another encoding for file names than UTF-8.

    Names would be read wrongly, and stored so: the same file would be another item than on other machines. A terminal
    keeps its encoding.
    """
    if sys.getfilesystemencoding() == "utf-8" or sys.flags.utf8_mode:
        return
    # By the environment, so that the processes that this one starts read names alike.
    os.environ["PYTHONUTF8"] = "1"
    if sys.stdout is not None and sys.stdout.isatty():
        os.environ.setdefault("PYTHONIOENCODING", sys.stdout.encoding)
    arguments = [sys.executable, "-X", "utf8", *sys.orig_argv[1:]]
    os.execv(sys.executable, arguments)  # noqa: S606 -- this program itself


def main() -> NoReturn:
    """Run the command line; every expected error ends in one line on stderr."""
    _restart_in_utf8()
    open_closed_streams()
    show_unknown_letters()
    distrust_working_folder()
    code = run(sys.argv[1:])
    # A full disk of stdout is an error of `run` already, or something else is.
    with suppress(OSError):
        flush()
    exit_with(code)


def run(arguments: list[str]) -> int:
    """Run a command, and return its exit code: an error that is known is one line, any other one is raised."""
    try:
        with no_garbage_looked_for():
            app = app_for(arguments)
        with hangs_told():
            code = app(args=arguments, prog_name="proofsweep", standalone_mode=False)
        flush()
    except TyperException as error:
        return _report_bad_usage(error)
    except ProofsweepError as error:
        return _report_error(error.message, code_of_error(error))
    # This one comes while the command is imported.
    except KeyboardInterrupt:
        code = _INTERRUPTED
    except Exception as error:
        # What others raise comes here from a command that did no work on a run, so nothing was stopped by it.
        expected_error = known_error(error)
        if expected_error is None:
            raise
        return _report_error(expected_error.message, ExitCode.USAGE)
    finally:
        close_app()
    if code == _INTERRUPTED:
        return _report_error("Stopped before the work was done.", ExitCode.CANCELLED)
    if isinstance(code, int):
        return code
    return ExitCode.ACCEPTED


def _report_bad_usage(error: TyperException) -> int:
    message = error.format_message().removesuffix(".")
    # It is empty when help was shown because there were no arguments.
    if not message:
        return ExitCode.USAGE
    context = getattr(error, "ctx", None)
    command = getattr(context, "command_path", "proofsweep")
    return _report_error(f"{message}; see: {command} --help", ExitCode.USAGE)


def _report_error(message: str, code: ExitCode) -> int:
    # The line is the promise to scripts and logs: a message of others may have several.
    line = " ".join(message.split())
    say(line)
    return code
