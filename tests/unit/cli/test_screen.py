"""What is printed is whole and safe on any stream: a narrow terminal, a pipe, a stream that is not UTF-8."""

import io
import json
import sys
from collections.abc import Iterator
from typing import IO

import duckdb
import pytest
from rich.color import Color, ColorSystem

from proofsweep_cli import query, results, screen
from proofsweep_cli.query import Format
from proofsweep_cli.screen import Screen, console, print_csv, print_json, print_json_array, table

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


SENTENCE = "  7 rejected: ask the supplier for the file as it was issued, with its sidecar"
COMMAND = "proofsweep resume 20261120T091500Z_8c1f04 --results 'my proofs'"


def lines_at(columns: int, *, is_terminal: bool = True, column: int | None = None) -> list[str]:
    file = io.StringIO()
    out = Screen(file=file, width=columns, force_terminal=is_terminal, color_system=None)
    out.line(SENTENCE, command=COMMAND, column=column)
    return file.getvalue().splitlines()


def test_a_terminal_breaks_no_word_and_no_command() -> None:
    """A command stays whole, however narrow the terminal is: what is copied can be typed."""
    narrow = lines_at(40)

    assert narrow == [
        "  7 rejected: ask the supplier for the",
        "    file as it was issued, with its",
        "    sidecar",
        f"    {COMMAND}",
    ]
    assert lines_at(80) == [SENTENCE, f"    {COMMAND}"]
    assert lines_at(60, column=14)[1] == f"{'':14}issued, with its sidecar"
    assert lines_at(200) == lines_at(40, is_terminal=False) == [f"{SENTENCE} {COMMAND}"]


def luminance(name: str) -> float:
    """As WCAG 2.2 has it, from 0 to 1."""
    parts = [part / 255 for part in Color.parse(name).get_truecolor()]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("name", sorted({*screen.COLOURS.values(), *results._COLOURS.values()}))
def test_no_colour_vanishes_on_a_light_or_on_a_dark_ground(name: str) -> None:
    """WCAG asks for a contrast of 3 for large text; a theme may change the first sixteen colours to any."""
    contrasts = (1.05 / (luminance(name) + 0.05), (luminance(name) + 0.05) / 0.05)

    assert min(contrasts) > 3.5
    assert (Color.parse(name).number or 0) > 15
    assert Color.parse(name).downgrade(ColorSystem.STANDARD).number in {1, 2, 5, 6}  # neither yellow nor dark blue
