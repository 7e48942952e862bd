"""Exported rows in a table of each kind of database, asked by its own client."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import psycopg
import pytest

from proofsweep.answers.databases import DatabaseUrl, TableName
from proofsweep.answers.export_table import columns_of_report, export_to_table
from proofsweep.answers.report_formats import CompletionReport
from proofsweep.answers.views.selected_rows import SelectedRows
from proofsweep.errors import ResultsError
from proofsweep.model.completion_report import own_header
from proofsweep.store.plans_and_parts import Results
from proofsweep.store.store import open_store

from ...deployment.postgres import serving
from ...servers.free_ports import free_ports
from ..ended_runs import answered, end_leg, plan_of_run

TABLE = TableName("proofs")
PASSWORD = "s3 cr/t@%x"
MONDAY, TUESDAY = (plan_of_run(f"2026111{day}T100000Z_00000{day}", 3, catalog_root="file:///c") for day in (6, 7))

Ask = Callable[[str], list[tuple[object, ...]]]


@pytest.fixture(scope="module")
def port() -> Iterator[str]:
    """A PostgreSQL server of this machine."""
    port = str(free_ports(1)[0])
    with serving(user="me", password=PASSWORD, database="music", port=port):
        yield port


@pytest.fixture(params=["sqlite", "duckdb", "postgresql"])
def kind(request: pytest.FixtureRequest) -> str:
    """Each kind of database."""
    return str(request.param)


@pytest.fixture
def url(kind: str, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """An empty database; the password of the server stands in the environment."""
    if kind != "postgresql":
        return f"{kind}:///{tmp_path}/night.db"
    port = request.getfixturevalue("port")
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    with psycopg.connect(f"host=127.0.0.1 port={port} user=me dbname=music", autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS proofs")
    return f"postgresql://me@127.0.0.1:{port}/music"


@pytest.fixture
def ask(kind: str, url: str) -> Ask:
    """Asks the database by its own client."""

    def ask(query: str) -> list[tuple[object, ...]]:
        match kind:
            case "sqlite":
                with sqlite3.connect(url.removeprefix("sqlite:///")) as lite:
                    return lite.execute(query).fetchall()
            case "duckdb":
                with duckdb.connect(url.removeprefix("duckdb:///")) as duck:
                    return duck.execute(query).fetchall()
            case _:
                with psycopg.connect(url) as server:
                    return server.execute(query.encode()).fetchall()

    return ask


@pytest.fixture
def results(tmp_path: Path) -> Results:
    """An empty store."""
    return Results(open_store(str(tmp_path / "results")))


def monday(results: Results) -> SelectedRows:
    """Leave a run of three rows, one of them accepted, with odd tags."""
    tags = [{"Supplier": "Acme", "outcome": "theirs"}, {"50%": "x\0y", 'a "b"': "\udcff"}, {}]
    rows = [
        answered(MONDAY, row, f"i{row}", "rejected" if row else "accepted", reason="tampered" if row else None)
        | {"audio_bytes": row * 10**10, "tags": json.dumps(tags[row])}
        for row in range(3)
    ]
    end_leg(results, MONDAY, rows)
    return SelectedRows(results=results, environment="beta", plan=MONDAY)


def tuesday(results: Results) -> SelectedRows:
    """Leave a later run: one row came out otherwise, one is new, and there is a new tag."""
    tags = json.dumps({"supplier": "Alba", "Label": "L"})
    rows = [answered(TUESDAY, row, f"i{row + 2}", "accepted", reason=None) | {"tags": tags} for row in range(2)]
    end_leg(results, TUESDAY, rows)
    return SelectedRows(results=results, environment="beta", plan=TUESDAY)


def test_each_file_has_a_row_with_typed_cells(results: Results, url: str, ask: Ask) -> None:
    """Tags have columns of their own; those with the name of another column have a longer one."""
    rows = export_to_table(monday(results), DatabaseUrl.of(url), TABLE)

    assert rows == 3
    found = ask('SELECT item_id, environment, outcome, audio_bytes, "Supplier", tag_outcome FROM proofs ORDER BY 1')
    assert found == [
        ("i0", "beta", "accepted", 0, "Acme", "theirs"),
        ("i1", "beta", "rejected", 10**10, None, None),
        ("i2", "beta", "rejected", 2 * 10**10, None, None),
    ]
    assert ask('SELECT "50%", "a ""b""" FROM proofs WHERE item_id = \'i1\'') == [(r"x\x00y", r"\xff")]
    assert ask("SELECT count(*) FROM proofs WHERE finished_at > '2020-01-01T00:00:00+00:00'") == [(3,)]


def test_the_same_export_twice_changes_nothing(results: Results, url: str, ask: Ask) -> None:
    """Whoever reads the table meanwhile sees the same rows."""
    selected = monday(results)

    export_to_table(selected, DatabaseUrl.of(url), TABLE)
    before = ask("SELECT * FROM proofs ORDER BY item_id")
    export_to_table(selected, DatabaseUrl.of(url), TABLE)

    assert ask("SELECT * FROM proofs ORDER BY item_id") == before


def test_a_later_export_brings_the_table_up_to_date(results: Results, url: str, ask: Ask) -> None:
    """It updates, inserts and adds columns; rows that it has not, and columns of others, stay."""
    export_to_table(monday(results), DatabaseUrl.of(url), TABLE)
    with DatabaseUrl.of(url).opened() as database:
        database.execute("ALTER TABLE proofs ADD COLUMN remark TEXT")
        database.execute("UPDATE proofs SET remark = 'ours'")

    export_to_table(tuesday(results), DatabaseUrl.of(url), TABLE)

    assert ask('SELECT item_id, outcome, run_id, "Supplier", "Label", remark FROM proofs ORDER BY 1') == [
        ("i0", "accepted", MONDAY.run_id, "Acme", None, "ours"),
        ("i1", "rejected", MONDAY.run_id, None, None, "ours"),
        ("i2", "accepted", TUESDAY.run_id, "Alba", "L", "ours"),
        ("i3", "accepted", TUESDAY.run_id, "Alba", "L", None),
    ]


def test_more_rows_than_go_at_once_are_all_there(
    results: Results, url: str, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if an item comes twice: the last one stays."""
    monkeypatch.setattr("proofsweep.answers.export_table._ROWS_AT_ONCE", 2)
    plan = plan_of_run("20261118T100000Z_000008", 5)
    ids = ["a", "b", "b", "c", "a"]
    end_leg(results, plan, [answered(plan, row, item) | {"detail": f"row {row}"} for row, item in enumerate(ids)])

    export_to_table(SelectedRows(results=results, environment="beta", plan=plan), DatabaseUrl.of(url), TABLE)

    assert ask("SELECT item_id, detail FROM proofs ORDER BY 1") == [("a", "row 4"), ("b", "row 2"), ("c", "row 3")]


def test_a_table_of_somebody_else_is_not_touched(results: Results, url: str) -> None:
    """Not even a column is added."""
    with DatabaseUrl.of(url).opened() as database:
        database.execute("CREATE TABLE proofs (a INTEGER)")

    with pytest.raises(ResultsError, match="The table proofs exists and is not of an export"):
        export_to_table(monday(results), DatabaseUrl.of(url), TABLE)

    with DatabaseUrl.of(url).opened() as database:
        assert database.columns_of(TABLE) == ["a"]


def test_without_a_row_nothing_is_done(results: Results, tmp_path: Path) -> None:
    """Not even the file of a database is made."""
    selected = monday(results)
    nothing = SelectedRows(results=results, environment="beta", plan=selected.plan, outcomes=["failed"])

    assert export_to_table(nothing, DatabaseUrl.of(f"sqlite:///{tmp_path}/none.db"), TABLE) == 0
    assert not (tmp_path / "none.db").exists()


KILLED = """
import os, signal, sys
from proofsweep.answers import export_table
from proofsweep.answers.databases import DatabaseUrl, TableName
from proofsweep.answers.views.selected_rows import SelectedRows
from proofsweep.store.plans_and_parts import Results
from proofsweep.store.store import open_store

class Lines:
    def __init__(self, lines):
        self.lines, self.count = iter(lines), 0
    def __iter__(self):
        return self
    def __next__(self):
        self.count += 1
        if self.count == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return next(self.lines)

write = export_table._write
export_table._write = lambda database, table, columns, lines: write(database, table, columns, Lines(lines))
export_table._ROWS_AT_ONCE = 1
results = Results(open_store(sys.argv[1]))
selected = SelectedRows(results=results, environment="beta", plan=results.plan(sys.argv[2]))
export_table.export_to_table(selected, DatabaseUrl.of(sys.argv[3]), TableName("proofs"))
"""


def test_an_export_that_is_killed_leaves_the_table_as_it_was(
    results: Results, url: str, ask: Ask, tmp_path: Path
) -> None:
    """Two rows of the later run were on their way; the next export takes them all."""
    export_to_table(monday(results), DatabaseUrl.of(url), TABLE)
    before, later = ask("SELECT * FROM proofs ORDER BY item_id"), tuesday(results)

    killed = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path / "results"), TUESDAY.run_id, url], check=False, env=os.environ
    )

    assert killed.returncode == -signal.SIGKILL
    assert ask("SELECT * FROM proofs ORDER BY item_id") == before
    assert export_to_table(later, DatabaseUrl.of(url), TABLE) == 2
    assert ask("SELECT count(*) FROM proofs") == [(4,)]


def test_names_of_columns_are_the_same_each_time_and_never_the_same_twice() -> None:
    """In any case; PostgreSQL would cut a name of more than 63 bytes, and then not find it."""
    tags = ["", "file", "ENVIRONMENT", "tag_file", "Lied", "LIED", "\u00e9" * 40, "\u00e9" * 41]

    columns = columns_of_report(CompletionReport(tags, own_header(["screening_human"]), iter(())))

    names = [column.name for column in columns]
    assert names[:8] == [
        "environment",
        "file",
        "tag",
        "tag_file",
        "tag_ENVIRONMENT",
        "tag_tag_file",
        "Lied",
        "tag_LIED",
    ]
    assert len({name.lower() for name in names}) == len(names)
    assert max(len(name.encode()) for name in names) <= 63
    kinds = {column.name: column.kind for column in columns}
    assert (kinds["screening_human"], kinds["audio_bytes"], kinds["Lied"]) == ("bool", "int64", "string")
