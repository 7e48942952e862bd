"""`proofsweep query`: ask a results store in SQL."""

import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

import duckdb
import pyarrow as pa
import typer

from proofsweep.answers.views.connection import OpenStore, opened, renew
from proofsweep.answers.views.script import script_of
from proofsweep.answers.views.views import views
from proofsweep.errors import UsageError
from proofsweep.settings import ALL, load_store_settings
from proofsweep.wiring.stores import results_for
from proofsweep_cli.exit_codes import ExitCode
from proofsweep_cli.options import Config, ResultsUrl
from proofsweep_cli.query_output import Format, write, write_text
from proofsweep_cli.screen import print_error

_Opened = Callable[..., AbstractContextManager[OpenStore]]
_Renew = Callable[[OpenStore], object]
_Script = Callable[..., str]


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(query)


def query(
    sql: str | None = typer.Argument(
        None, metavar="[SQL]", help="One or more statements; `-` reads them from stdin. Without it: a prompt."
    ),
    *,
    form: Format | None = typer.Option(
        None, "--format", "-f", help="How the answer is written; as the ending of --file says, else as a table."
    ),
    file: Path | None = typer.Option(
        None, "--file", "-o", metavar="FILE", help="Write the answer to this file, which must not exist."
    ),
    environment: str | None = typer.Option(
        None, "--environment", "-e", metavar="NAME", help="The environment to show, or all; that of the config."
    ),
    print_views: bool = typer.Option(False, "--print-views", help="Print the views as SQL for your own DuckDB."),
    results: str | None = ResultsUrl,
    config: str | None = Config,
) -> int:
    """Ask the results store in SQL, with DuckDB.

    The views: verdicts, runs, exchanges and ingest are the tables. latest_answer and latest_attempt have a row for each
    item. changes is what each run found otherwise than before, and why. rejects is what needs attention now. Each tag
    of the catalogs is a column of these. reasons, coverage, spend and request_log count and look up. docs/cookbook.md
    has twenty questions with their SQL.

    On a terminal, without SQL, it asks for statements one by one: Tab completes, and the history is kept.

    Example: proofsweep query "SELECT file, what_to_do FROM rejects ORDER BY file"
    """
    as_format = form or _format_by_name(file)
    settings = load_store_settings(config, results)
    store, screening = results_for(settings), settings.screening.conditions
    if settings.account is not None and environment is None:
        environment = ALL if settings.account == ALL else settings.service.environment
    views_of_store = partial(opened, store, environment, preferred=settings.service.environment, screening=screening)
    if print_views:
        return _print_views(partial(script_of, store), views_of_store, file)
    if sql is None and sys.stdin.isatty() and sys.stdout.isatty():
        return _ask(lambda each: renew(each, store), views_of_store, as_format, file)
    statements = _statements(sql)
    with views_of_store(asked=statements) as views_of:
        _say_which(views_of)
        _answer(views_of, statements, as_format, file)
    return ExitCode.ACCEPTED


def _format_by_name(file: Path | None) -> Format:
    ending = file.suffix.removeprefix(".").lower() if file else ""
    return Format(ending) if ending in set(Format) else Format.TABLE


def _statements(sql: str | None) -> str:
    if sql == "-" or (sql is None and not sys.stdin.isatty()):
        sql = sys.stdin.read()
    if not (sql or "").strip():
        raise UsageError('Give a query, for example: proofsweep query "SELECT * FROM reasons"')
    return sql or ""


def _answer(store: OpenStore, statements: str, as_format: Format, file: Path | None) -> None:
    """Answer in another thread: DuckDB does not hear Ctrl-C in this one while it works."""
    try:
        with ThreadPoolExecutor(1) as thread:
            answer = thread.submit(lambda: write(store.connection.sql(statements), as_format, file))
            try:
                answer.result()
            except KeyboardInterrupt:
                store.connection.interrupt()
                raise
    except (duckdb.Error, pa.ArrowException) as mistake:
        reason, _, _ = str(mistake).partition("\nLINE ")  # then comes the text itself, with a mark below
        raise UsageError(f"The query cannot be answered: {' '.join(reason.split())}") from mistake


def _ask(renew_views: _Renew, views_of_store: _Opened, as_format: Format, file: Path | None) -> int:
    """Answer statement by statement; each sees the runs that are there then."""
    from proofsweep_cli.query_prompt import ask_until_end  # noqa: PLC0415 - a single query need not wait for it

    if file is not None:
        raise UsageError("--file takes the answer of one query: give it as an argument, or on stdin.")
    with views_of_store() as views_of:
        _say_which(views_of)

        def answer(statement: str) -> None:
            try:
                renew_views(views_of)
            except RuntimeError as stopped:  # so DuckDB tells of Ctrl-C
                raise KeyboardInterrupt from stopped
            except duckdb.TransactionException:  # of one that its user began and that failed: ROLLBACK must pass
                pass
            _answer(views_of, statement, as_format, None)

        ask_until_end(views_of.connection, answer)
    return ExitCode.ACCEPTED


def _print_views(script: _Script, views_of_store: _Opened, file: Path | None) -> int:
    with views_of_store() as open_store:
        text = script(open_store.environments, views(open_store.tags, open_store.screening))
    write_text(text, file)
    return ExitCode.ACCEPTED


def _say_which(store: OpenStore) -> None:
    if store.others:
        print_error(
            f"The views show {store.environments[0]}; the store also has {', '.join(store.others)} (--environment)."
        )
