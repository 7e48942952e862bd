"""`proofsweep query` answers over the tables of a real run."""

import json
import sys
from io import StringIO

import pytest

from .conftest import Command


def test_an_answer_comes_in_each_format(proofsweep: Command, finished_run: str) -> None:
    """On stdout, whole."""
    del finished_run
    query = "SELECT outcome, count(*)::INTEGER AS files FROM verdicts GROUP BY ALL ORDER BY outcome"

    table, csv, rows = (proofsweep("query", query, "--format", each) for each in ("table", "csv", "json"))

    answer = json.loads(rows.stdout)
    assert sum(row["files"] for row in answer) == 26
    assert csv.stdout.splitlines() == ["outcome,files", *(f"{row['outcome']},{row['files']}" for row in answer)]
    assert f"{len(answer)} rows" in table.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["SELECT nothing FROM verdicts"], "The query cannot be answered: Binder Error"),
        (["SELEC 1"], "Parser Error"),
        (["FROM verdicts", "--environment", "beta"], "no run of the environment beta"),
        (["FROM verdicts", "--results", "nowhere"], "There is no run in"),
        ([" "], "Give a query"),
    ],
)
def test_a_mistake_is_one_line(proofsweep: Command, finished_run: str, arguments: list[str], words: str) -> None:
    """The exit code is 2."""
    del finished_run
    done = proofsweep("query", *arguments)

    assert done.returncode == 2
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_query_comes_from_stdin(proofsweep: Command, finished_run: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Several statements too."""
    del finished_run
    statements = "SET VARIABLE least = 1;\n-- of all\nSELECT count(*) AS n FROM verdicts"
    monkeypatch.setattr(sys, "stdin", StringIO(statements))

    done = proofsweep("query", "-", "--format", "json")

    assert json.loads(done.stdout) == [{"n": 26}]
