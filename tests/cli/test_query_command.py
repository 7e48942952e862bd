"""`proofsweep query` answers over the tables of a real run."""

import json
import sys
from io import StringIO
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from .conftest import Command


def test_an_answer_comes_in_each_format(proofsweep: Command, finished_run: str, workdir: Path) -> None:
    """On stdout or in a new file, whole, as its ending says; an existing file stays as it is."""
    del finished_run
    query = "SELECT outcome, count(*)::INTEGER AS files FROM verdicts GROUP BY ALL ORDER BY outcome"

    table, csv, rows = (proofsweep("query", query, "--format", each) for each in ("table", "csv", "json"))
    parquet = proofsweep("query", query, "--file", "answer.parquet")
    again = proofsweep("query", query, "--format", "csv", "--file", "answer.parquet")

    answer = json.loads(rows.stdout)
    assert sum(row["files"] for row in answer) == 26
    assert csv.stdout.splitlines() == ["outcome,files", *(f"{row['outcome']},{row['files']}" for row in answer)]
    assert f"{len(answer)} rows" in table.stdout
    assert pq.read_table("answer.parquet").to_pylist() == answer
    assert (parquet.returncode, again.returncode) == (0, 2)
    assert "answer.parquet cannot be written: File exists" in again.stderr
    assert sorted(path.name for path in workdir.iterdir()) == ["answer.parquet", "results"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["SELECT nothing FROM verdicts"], "The query cannot be answered: Binder Error"),
        (["SELEC 1"], "Parser Error"),
        (["FROM verdicts", "--environment", "beta"], "no run of the environment beta"),
        (["FROM verdicts", "--format", "table", "--file", "x"], "A table is for the terminal"),
        (["FROM verdicts", "--format", "csv", "--file", "no/x"], "no/x cannot be written: No such file or directory"),
        (["FROM verdicts", "--results", "nowhere"], "There is no run in"),
        ([" "], "Give a query"),
    ],
)
def test_a_mistake_is_one_line(proofsweep: Command, finished_run: str, arguments: list[str], words: str) -> None:
    """The exit code is 2, and no file is left behind."""
    del finished_run
    done = proofsweep("query", *arguments)

    assert done.returncode == 2
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not Path("x").exists()


def test_a_query_comes_from_a_file_or_from_stdin(
    proofsweep: Command, finished_run: str, workdir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Several statements too. A mistake in it, and one in the way to it, are one line."""
    del finished_run
    (workdir / "count.sql").write_text("SET VARIABLE least = 1;\n-- of all\nSELECT count(*) AS n FROM verdicts")
    (workdir / "bad.sql").write_text("SELEC 1")
    monkeypatch.setattr(sys, "stdin", StringIO("SELECT count(*) AS n FROM verdicts"))

    answers = [proofsweep("query", *words, "--format", "json") for words in (["--from", "count.sql"], ["-"])]
    refused = [
        proofsweep("query", *words)
        for words in (["--from", "bad.sql"], ["--from", "no.sql"], ["FROM runs", "--from", "count.sql"])
    ]

    assert [json.loads(each.stdout) for each in answers] == [[{"n": 26}]] * 2
    assert {(each.returncode, each.stderr.count("\n"), each.stdout) for each in refused} == {(2, 1, "")}
    assert "no.sql cannot be read" in refused[1].stderr
