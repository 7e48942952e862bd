"""Read SQL statement by statement on a terminal: with completion, a history, and Enter after a semicolon to ask."""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import duckdb
from prompt_toolkit import PromptSession
from prompt_toolkit.application import get_app
from prompt_toolkit.completion import WordCompleter
from prompt_toolkit.filters import Condition
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

from proofsweep.answers.views.views import views
from proofsweep.errors import ProofsweepError
from proofsweep_cli.screen import console, print_error

_COMMANDS = {
    ".views": "what can be asked, and its columns",
    ".help": "this list",
    ".exit": "the end; Ctrl-D does the same",
}
_HELP = "A statement ends with a semicolon, and may have several lines. Ctrl-C clears what is typed."


def ask_until_end(connection: duckdb.DuckDBPyConnection, answer: Callable[[str], None]) -> None:
    """Read statements and answer each, until Ctrl-D or `.exit`.

    Args:
        connection: names what can be completed.
        answer: answers one statement; a ProofsweepError is one line, and the next statement may come.
    """
    session: PromptSession[str] = PromptSession(
        message="proofsweep> ",
        prompt_continuation=lambda width, _line, _soft: "> ".rjust(width),
        multiline=True,
        key_bindings=_keys(),
        completer=WordCompleter(_words(connection), ignore_case=True),
        complete_while_typing=False,
        history=_history(),
    )
    console().print("SQL over this results store; .help says more, Ctrl-D ends.", style="dim")
    while True:
        try:
            typed = session.prompt().strip()
        except KeyboardInterrupt:
            continue
        except EOFError:
            return
        if typed.rstrip(";") in {".exit", ".quit"}:
            return
        _obey(typed, connection, answer)


def history_file() -> Path:
    """Return where typed statements are kept: in the user's state folder (XDG Base Directory Specification)."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state, "proofsweep", "query-history")


def _obey(typed: str, connection: duckdb.DuckDBPyConnection, answer: Callable[[str], None]) -> None:
    match typed.rstrip(";"):
        case "":
            return
        case ".help":
            for command, meaning in _COMMANDS.items():
                console().print(f"{command:8}{meaning}")
            console().print(_HELP)
        case ".views":
            _print_views(connection)
        case command if command.startswith("."):
            print_error(f"There is no {command}; there are {', '.join(_COMMANDS)}.")
        case _:
            try:
                answer(typed)
            except ProofsweepError as mistake:
                print_error(mistake.message)
            except KeyboardInterrupt:
                print_error("The statement was stopped.")


def _keys() -> KeyBindings:
    """Let Enter end a statement that is whole; in one that is not, it begins a new line."""
    keys = KeyBindings()

    @keys.add("enter", filter=Condition(lambda: _is_whole(get_app().current_buffer.text)))
    def _end(event: KeyPressEvent) -> None:
        event.current_buffer.validate_and_handle()

    return keys


def _is_whole(typed: str) -> bool:
    return not typed.strip() or typed.rstrip().endswith(";") or typed.lstrip().startswith(".")


def _words(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """Name what a statement may be made of: our commands, views, columns, functions, and the words of SQL."""
    found = connection.execute(
        "SELECT DISTINCT column_name FROM duckdb_columns() WHERE NOT internal AND schema_name = 'main' "
        "UNION SELECT upper(keyword_name) FROM duckdb_keywords() WHERE keyword_category <> 'unreserved' "
        "UNION SELECT function_name FROM duckdb_functions() WHERE regexp_matches(function_name, '^[a-z][a-z0-9_]+$') "
        "ORDER BY ALL"
    )
    return [*_COMMANDS, *(view.name for view in views()), *(word for (word,) in found.fetchall())]


def _history() -> History:
    """Keep what is typed; for this session only if there is no folder for it."""
    with suppress(OSError, RuntimeError):  # the latter: no home
        file = history_file()
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file.touch(mode=0o600)
        return _KeptHistory(file)
    return InMemoryHistory()


class _KeptHistory(FileHistory):
    """A history in a file; a full disk does not end the session."""

    def store_string(self, string: str) -> None:
        """Add what was typed."""
        with suppress(OSError):
            super().store_string(string)


def _print_views(connection: duckdb.DuckDBPyConnection) -> None:
    for view in views():
        columns = connection.table(view.name).columns
        console().print(view.name, style="bold")
        console().print(f"  {view.meaning}")
        console().print(f"  {', '.join(columns)}", style="dim")
