"""The URL of a database is read without telling anybody its password."""

import sqlite3
from pathlib import Path

import duckdb
import pytest

from proofsweep.answers.databases import DatabaseUrl, TableName
from proofsweep.errors import ConfigError, ResultsError, UsageError


@pytest.mark.parametrize(
    ("text", "kind", "shown"),
    [
        (
            "postgresql://me:s3cret@db.example:5433/music?sslmode=require",
            "postgresql",
            "postgresql://db.example:5433/music",
        ),
        ("postgres://db.example/music", "postgresql", "postgresql://db.example/music"),
        ("postgresql:///music", "postgresql", "postgresql:///music"),
        ("sqlite:///night.db", "sqlite", "sqlite:///night.db"),
        ("sqlite:////data/a #1?.db", "sqlite", "sqlite:////data/a #1?.db"),
        ("duckdb:///night\x1b.duckdb", "duckdb", r"duckdb:///night\x1b.duckdb"),
    ],
)
def test_a_url_names_a_database(text: str, kind: str, shown: str) -> None:
    """It is shown without the password and the options; neither is in its representation."""
    url = DatabaseUrl.of(text)

    assert (url.kind, url.shown) == (kind, shown)
    assert "s3cret" not in repr(url)


@pytest.mark.parametrize(
    "text",
    [
        *("night.db", "sqlite:///", "sqlite://night.db", "duckdb:", "mysql://me:s3cret@h/music", "postgresql://h", ""),
        *("postgresql://me:s3cret@h:port/music", "postgresql://me:123/s3cret@h/music", "postgresql://[s3cret@h/music"),
    ],
)
def test_what_names_none_is_refused_without_repeating_it(text: str) -> None:
    """A URL that was mistyped may hold a password in any of its parts."""
    with pytest.raises(UsageError, match="names no database; write postgresql://") as refused:
        DatabaseUrl.of(text)

    assert "s3cret" not in str(refused.value)


@pytest.mark.parametrize(("text", "sql"), [("proofs", '"proofs"'), ("music.Proofs_2", '"music"."Proofs_2"')])
def test_a_table_may_stand_in_a_schema(text: str, sql: str) -> None:
    """The name is taken as it is written."""
    assert TableName(text).sql == sql


@pytest.mark.parametrize("text", ["", "a b", "a;b", '"a"', "a.b.c", "1a", "a" * 64, "t\u00e4fel"])
def test_any_other_name_of_a_table_is_refused(text: str) -> None:
    """No name is a part of a statement that is not the name of a table."""
    with pytest.raises(UsageError, match="a table is named by letters, digits and _"):
        TableName(text)


def test_a_driver_that_is_not_installed_is_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """The line says which."""
    monkeypatch.setitem(__import__("sys").modules, "psycopg", None)

    with (
        pytest.raises(ConfigError, match=r"pip install 'proofsweep\[postgresql\]'"),
        DatabaseUrl.of("postgresql://h/music").opened(),
    ):
        pass


def make_table(url: DatabaseUrl, lines: list[list[int]] | None = None, cause: Exception | None = None) -> None:
    """Make a table of these lines, in a transaction that fails if a cause is given."""
    with url.opened() as database:
        database.execute("CREATE TABLE a (b INTEGER)")
        if lines:
            database.insert(f"INSERT INTO a {database.source(1)}", lines)
        if cause is not None:
            raise cause


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_a_file_that_is_no_database_is_refused_in_one_line(tmp_path: Path, kind: str) -> None:
    """It stays as it is."""
    (tmp_path / "notes").write_text("not a database, but longer than the header of one. " * 20)

    with pytest.raises(ResultsError, match=rf"{kind}:////.*notes does not take the rows: \w.*") as refused:
        make_table(DatabaseUrl.of(f"{kind}:///{tmp_path}/notes"))

    assert "\n" not in str(refused.value)
    assert (tmp_path / "notes").read_text().startswith("not a database")


def test_a_refusal_does_not_hold_the_password() -> None:
    """Nobody listens at this port; whatever the driver says, the password is not in it."""
    with pytest.raises(ResultsError, match=r"postgresql://127\.0\.0\.1:1/music does not take the rows: ") as refused:
        make_table(DatabaseUrl.of("postgresql://me:refused@127.0.0.1:1/music"))

    assert "refused" not in str(refused.value)
    assert "***" in str(refused.value)


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_work_that_fails_leaves_nothing(tmp_path: Path, kind: str) -> None:
    """It is one transaction, the table that it made included."""
    url = DatabaseUrl.of(f"{kind}:///{tmp_path}/night")

    with pytest.raises(ZeroDivisionError):
        make_table(url, [[1], [2]], cause=ZeroDivisionError())

    with url.opened() as database:
        assert database.columns_of(TableName("a")) == []


def test_a_schema_is_looked_into(tmp_path: Path) -> None:
    """A table of the same name elsewhere is another one."""
    with duckdb.connect(str(tmp_path / "a.duckdb")) as connection:
        connection.execute("CREATE SCHEMA music; CREATE TABLE music.a (b INTEGER)")
    with sqlite3.connect(tmp_path / "a.db") as connection:
        connection.execute("CREATE TABLE a (b INTEGER)")

    with DatabaseUrl.of(f"duckdb:///{tmp_path}/a.duckdb").opened() as database:
        assert (database.columns_of(TableName("a")), database.columns_of(TableName("music.a"))) == ([], ["b"])
    with DatabaseUrl.of(f"sqlite:///{tmp_path}/a.db").opened() as database:
        assert database.columns_of(TableName("main.a")) == ["b"]
