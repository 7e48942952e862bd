"""`proofsweep query` answers over the tables of a real run, wherever its store lies."""

import json
import shutil
import sys
from io import BytesIO, TextIOWrapper
from pathlib import Path
from urllib.parse import quote

import pytest

from .conftest import Command


def test_an_answer_comes_in_each_format(proofsweep: Command, finished_run: str) -> None:
    del finished_run
    query = "SELECT outcome, count(*)::INTEGER AS files FROM verdicts GROUP BY ALL ORDER BY outcome"

    table, csv, rows = (proofsweep("query", query, "--format", each) for each in ("table", "csv", "json"))

    answer = json.loads(rows.stdout)
    assert sum(row["files"] for row in answer) == 26
    assert csv.stdout.splitlines() == ["outcome,files", *(f"{row['outcome']},{row['files']}" for row in answer)]
    assert f"{len(answer)} rows" in table.stdout


def test_a_query_comes_from_stdin(proofsweep: Command, finished_run: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Several statements too; in an old encoding it is one line."""
    del finished_run
    statements = "SET VARIABLE least = 1;\n-- of all\nSELECT count(*) AS n FROM verdicts"
    for encoding in ("utf-8", "utf-16"):
        monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(statements.encode(encoding))))

        done = proofsweep("query", "-", "--format", "json")

        assert json.loads(done.stdout) == [{"n": 26}]
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO("SELECT 'Müller'".encode("windows-1252"))))

    done = proofsweep("query")

    assert (done.returncode, done.stderr) == (2, "proofsweep: The query on stdin is not UTF-8: save it so.\n")


ASKED = """
    SELECT 'verdicts' AS of, run_date::VARCHAR AS name, count(*) AS rows FROM verdicts GROUP BY ALL
    UNION ALL SELECT 'exchanges', run_date::VARCHAR, count(*) FROM exchanges GROUP BY ALL
    UNION ALL SELECT 'states', state, count(*) FROM catalog GROUP BY ALL
    UNION ALL SELECT 'runs', run_id, 1 FROM runs ORDER BY ALL
"""
NAMES = ["_runs/run_date=2020-01-01", "it's 100%20#1 a[b]*?", "M\u00fcller\\S\u00f6hne"]


def test_answers_are_the_same_below_any_name(proofsweep: Command, verified: tuple[Path, str], workdir: Path) -> None:
    """Also below one that DuckDB cannot name by itself."""

    def answer(url: Path | str) -> object:
        return json.loads(proofsweep("query", ASKED, "--format", "json", "--results", url).stdout)

    plain = answer(verified[0])
    assert isinstance(plain, list)
    assert {row["of"] for row in plain} == {"verdicts", "exchanges", "states", "runs"}
    for name in NAMES:
        store = workdir / name / "results"
        shutil.copytree(verified[0], store)
        page = proofsweep("report", "--results", store)

        assert (name, answer(store), answer(f"file://{quote(str(store))}")) == (name, plain, plain)
        assert (name, page.returncode, page.stderr) == (name, 0, "")
