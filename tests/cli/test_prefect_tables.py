"""The database of a new Prefect home: its tables are those of Prefect's own migrations."""

import os
import re
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from importlib.metadata import files, version
from pathlib import Path

import pytest

from proofsweep_cli.embedded_server import EmbeddedServer, PrefectIsAway
from proofsweep_cli.server_process import SCRIPT, heading, is_current, make_database, unusable

TABLES = SCRIPT.read_text("utf-8")


def test_the_script_is_of_the_newest_migration_of_the_pinned_version() -> None:
    """After a change of Prefect's version the script is written anew (CONTRIBUTING.md)."""
    migrations = "".join(str(file.read_text()) for file in files("prefect") or () if "/versions/sqlite/" in str(file))
    of_prefect = re.findall(r'^revision = "(\w+)"', migrations, re.MULTILINE)
    followed = re.findall(r'^down_revision = "(\w+)"', migrations, re.MULTILINE)

    assert TABLES.startswith(heading(version("prefect")))
    assert {*of_prefect} - {*followed} == {*re.findall(r"INTO \"alembic_version\" VALUES\('(\w+)'\)", TABLES)}


@pytest.mark.skipif("PROOFSWEEP_SOAK_MIGRATIONS" not in os.environ, reason="takes ten seconds: make soak")
def test_the_script_is_what_the_migrations_make(tmp_path: Path) -> None:
    program = [sys.executable, "-m", "prefect", "server", "database", "upgrade", "--yes"]

    subprocess.run(program, check=True, env=os.environ | {"PREFECT_HOME": str(tmp_path)})

    with closing(sqlite3.connect(tmp_path / "prefect.db")) as tables:
        made = "\n".join(tables.iterdump())
    assert statements(made) == statements(TABLES.removeprefix(heading(version("prefect"))))


def statements(script: str) -> tuple[list[str], list[str]]:
    """Give the lines in order; and apart those whose order the migrations leave to chance: constraints and indexes."""
    lines = [line.strip().removesuffix(",") for line in script.splitlines()]
    chance = ("CONSTRAINT ", "FOREIGN KEY", "UNIQUE", "CREATE INDEX", "CREATE UNIQUE INDEX")
    anywhere = sorted(line for line in lines if line.startswith(chance))
    return [line for line in lines if not line.startswith(chance)], anywhere


def test_a_missing_database_is_made_whole(tmp_path: Path) -> None:
    """Prefect then looks for no migration, and nothing is left beside it.

    Without a database, with another file or another revision, Prefect migrates, or says what is wrong.
    """
    database = tmp_path / "new home" / "prefect.db"
    assert not is_current(database, TABLES)

    make_database(database, TABLES)
    assert is_current(database, TABLES)
    assert [path.name for path in database.parent.iterdir()] == ["prefect.db"]

    with closing(sqlite3.connect(database)) as tables, tables:
        tables.execute("UPDATE alembic_version SET version_num = 'older'")
    assert not is_current(database, TABLES)

    database.write_bytes(b"no database" * 100)
    assert not is_current(database, TABLES)


@pytest.mark.parametrize("name", ["prefect.db", "prefect.db-wal", "prefect.db-journal"])
def test_what_is_there_is_left_to_prefect(tmp_path: Path, name: str) -> None:
    """An own database, also an empty one; and what remains of a deleted one, which SQLite would add to a new one."""
    (tmp_path / name).write_bytes(b"")

    make_database(tmp_path / "prefect.db", TABLES)

    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [(name, b"")]


def test_what_cannot_be_made_whole_is_left_to_prefect(tmp_path: Path) -> None:
    """A database appears with all of its tables or not at all; of a home that cannot be written Prefect says so."""
    make_database(tmp_path / "prefect.db", f"{TABLES}\nCREATE nonsense;")
    assert list(tmp_path.iterdir()) == []

    (tmp_path / "home").write_text("a file")
    make_database(tmp_path / "home" / "prefect.db", TABLES)
    assert (tmp_path / "home").read_text() == "a file"


def test_a_database_of_another_version_is_named_with_what_to_do(tmp_path: Path) -> None:
    """The server ends at once and says the path, not that an application startup failed; one that is damaged too."""
    database = tmp_path / "prefect.db"
    make_database(database, TABLES)
    assert unusable(database) is None

    with closing(sqlite3.connect(database)) as tables, tables:
        tables.execute("UPDATE alembic_version SET version_num = 'newer'")
    assert said_by_server(tmp_path) == (
        f"The embedded Prefect server did not start: its database {database} was made by another version of Prefect: "
        "let PREFECT_HOME name another folder."
    )

    database.write_bytes(b"no database" * 100)
    assert "cannot be read (file is not a database): let PREFECT_HOME" in said_by_server(tmp_path)


def said_by_server(home: Path) -> str:
    """Start a server that cannot serve, and give what is said of it."""
    server = EmbeddedServer.start(home)
    try:
        with pytest.raises(PrefectIsAway) as raised:
            server.wait_until_up()
    finally:
        server.close()
    return raised.value.message


def test_of_servers_that_begin_at_once_one_makes_the_database(tmp_path: Path) -> None:
    """The others find it, and never replace it."""
    database = tmp_path / "prefect.db"

    def make_and_use(number: int) -> bool:
        make_database(database, TABLES)
        with closing(sqlite3.connect(database)) as tables, tables:
            tables.execute("INSERT INTO configuration (key, value) VALUES (?, '{}')", (str(number),))
        return is_current(database, TABLES)

    with ThreadPoolExecutor(8) as servers:
        assert all(servers.map(make_and_use, range(8)))
    with closing(sqlite3.connect(database)) as tables:
        assert tables.execute("SELECT count(*) FROM configuration").fetchone() == (8,)
