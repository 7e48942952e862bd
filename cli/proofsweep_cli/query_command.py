"""`proofsweep query`: ask a results store in SQL."""

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import duckdb
import pyarrow as pa
import typer

from proofsweep.config.load import load_settings
from proofsweep.domain.errors import UsageError
from proofsweep.domain.text import printable
from proofsweep.queries.connection import OpenStore, opened
from proofsweep.queries.tables import script_of
from proofsweep.queries.views import views
from proofsweep.wiring.stores import results_for
from proofsweep_cli.exit_codes import ExitCode
from proofsweep_cli.options import Config, ResultsUrl
from proofsweep_cli.query_output import Format, write, write_text
from proofsweep_cli.screen import print_error


def query(
    sql: str | None = typer.Argument(
        None, metavar="[SQL]", help="One or more statements; `-`, or what is piped in, reads them from stdin."
    ),
    *,
    script: Path | None = typer.Option(None, "--from", metavar="FILE", help="Read the statements from this file."),
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

    The views: verdicts, runs, exchanges and ingest are the tables. catalog has a row for each item as it stands, and
    latest_answer for each item with an answer. changes is what each run found otherwise than before, and why. rejects
    is what needs attention now. Each tag of the catalogs is a column of these. coverage counts each catalog.
    docs/cookbook.md has twenty questions with their SQL.

    Examples: `proofsweep query "SELECT file, what_to_do FROM rejects ORDER BY file"` ·
    `proofsweep query --from weekly.sql --file weekly.csv`
    """
    as_format = form or _format_by_name(file)
    settings = load_settings(config, results)
    store = results_for(settings)
    preferred = settings.service.environment
    if print_views:
        with opened(store, environment, preferred=preferred) as views_of:
            write_text(script_of(store, views_of.environments, views(views_of.tags)), file)
        return ExitCode.ACCEPTED
    statements = _statements(sql, script)
    with opened(store, environment, preferred=preferred, asked=statements) as views_of:
        if views_of.others:
            shown, others = views_of.environments[0], ", ".join(views_of.others)
            print_error(f"The views show {shown}; the store also has {others} (--environment).")
        _answer(views_of, statements, as_format, file)
    return ExitCode.ACCEPTED


def _format_by_name(file: Path | None) -> Format:
    ending = file.suffix.removeprefix(".").lower() if file else ""
    return Format(ending) if ending in set(Format) else Format.TABLE


def _statements(sql: str | None, script: Path | None) -> str:
    if script is not None:
        if sql is not None:
            raise UsageError("Give the statements as an argument or with --from, not both.")
        return _checked(_text_of(script))
    if sql == "-" or (sql is None and not sys.stdin.isatty()):
        sql = sys.stdin.read()
    return _checked(sql or "")


def _text_of(script: Path) -> str:
    try:
        return script.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no UTF-8 text"
        raise UsageError(f"{printable(str(script))} cannot be read: {reason}.") from error


def _checked(statements: str) -> str:
    if not statements.strip():
        raise UsageError('Give a query, for example: proofsweep query "FROM rejects"')
    return statements


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
