"""What is printed is whole and safe on any stream: a narrow terminal, a pipe, a stream that is not UTF-8."""

import io
import json
import sys
from collections.abc import Iterator
from typing import IO

import duckdb
import pytest

from proofsweep_cli import query
from proofsweep_cli.query import Format
from proofsweep_cli.screen import console, print_csv, print_json, print_json_array, table

LONG = "a folder/" * 120


class Terminal(io.TextIOWrapper):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def database() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as database:
        yield database


def printed_to(stream: IO[str], monkeypatch: pytest.MonkeyPatch, sql: str, database: duckdb.DuckDBPyConnection) -> str:
    monkeypatch.setattr(sys, "stdout", stream)
    query._write(database.sql(sql), Format.TABLE)
    assert isinstance(stream, io.TextIOWrapper)
    content = stream.buffer
    assert isinstance(content, io.BytesIO)
    return content.getvalue().decode()


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_json_is_json_on_any_stream(encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A letter that the stream lacks is an escape of JSON, not one of Python."""
    document = {"audio": "Köln/10 Ständchen 🎤.wav"}
    for write, expected in ((print_json, document), (lambda each: print_json_array([each]), [document])):
        content = io.BytesIO()
        stream = io.TextIOWrapper(content, encoding=encoding, errors="backslashreplace")
        monkeypatch.setattr(sys, "stdout", stream)

        write(document)

        assert json.loads(content.getvalue().decode(encoding)) == expected


def test_a_csv_cell_steers_no_terminal_and_runs_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """Nor does the name of a column; a number stays a number."""
    print_csv(["=name", "n"], [["=1+1", -5], ["\x1b[2J\u202e", None]])

    assert capsys.readouterr().out == "'=name,n\n'=1+1,-5\n\\x1b[2J\\u202e,\n"


def test_a_row_that_no_terminal_holds_has_one_field_a_line(
    database: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is lost at forty columns, and what fits stays a table."""
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("NO_COLOR", "1")
    many = ", ".join(f"'{letter}' AS {letter}_name" for letter in "abcdefghij")

    narrow = printed_to(Terminal(io.BytesIO(), "utf-8"), monkeypatch, f"SELECT {many}, 7 AS n", database)
    fitting = printed_to(Terminal(io.BytesIO(), "utf-8"), monkeypatch, "SELECT 1 AS n, 'x' AS name", database)

    lines = [line.split() for line in narrow.replace("\x1b[1m", "").splitlines()]
    assert ["c_name", "c"] in lines
    assert ["n", "7"] in lines
    assert "n  name" in fitting


def test_a_pipe_is_never_folded(database: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line of a table is a line, however long: another program reads it."""
    stream = io.TextIOWrapper(io.BytesIO(), "utf-8")

    said = printed_to(stream, monkeypatch, f"SELECT '{LONG}' AS file, 1 AS n", database)
    shown = table("file", "n")
    shown.add_row(LONG, "1")
    console().print(shown)

    assert [line.split() for line in said.splitlines()][1] == ["a", *LONG.split()[1:], "1"]
    content = stream.buffer
    assert isinstance(content, io.BytesIO)
    assert content.getvalue().decode().count(LONG) == 2
