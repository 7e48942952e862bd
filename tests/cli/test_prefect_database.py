"""The database of a new Prefect home: a copy of the tables that Prefect has made once for its version."""

import fcntl
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from proofsweep_cli.embedded_server import EmbeddedServer, PrefectIsAway
from proofsweep_cli.prefect_database import cached_tables, copy_tables, revisions_of, unusable


@pytest.fixture(scope="module")
def tables() -> Path:
    made = cached_tables()
    assert made is not None
    return made


def test_a_missing_database_is_a_copy(tables: Path, tmp_path: Path) -> None:
    """Prefect then looks for no migration, and nothing is left beside it.

    Without a database, with another file or another revision, Prefect migrates, or says what is wrong.
    """
    database = tmp_path / "new home" / "prefect.db"
    assert revisions_of(database) is None

    copy_tables(tables, database)
    assert revisions_of(database) == revisions_of(tables) != []
    assert [path.name for path in database.parent.iterdir()] == ["prefect.db"]

    database.write_bytes(b"no database" * 100)
    assert revisions_of(database) is None


def test_without_a_cache_prefect_makes_its_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as where a user has no home, or one that cannot be written."""
    (tmp_path / "cache").write_text("a file")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    assert cached_tables() is None


def test_tables_are_made_once(tables: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever comes meanwhile waits; what is there already is used as it is."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "proofsweep").mkdir()
    made = tmp_path / "proofsweep" / tables.name
    with made.with_suffix(".lock").open("w") as lock, ThreadPoolExecutor(1) as others:
        fcntl.flock(lock, fcntl.LOCK_EX)
        waiting = others.submit(cached_tables)
        made.write_bytes(b"made meanwhile")
        fcntl.flock(lock, fcntl.LOCK_UN)
        assert waiting.result(60.0) == made
    assert made.read_bytes() == b"made meanwhile"


@pytest.mark.parametrize("name", ["prefect.db", "prefect.db-wal", "prefect.db-journal"])
def test_what_is_there_is_left_to_prefect(tables: Path, tmp_path: Path, name: str) -> None:
    """An own database, also an empty one; and what remains of a deleted one, which SQLite would add to a new one."""
    (tmp_path / name).write_bytes(b"")

    copy_tables(tables, tmp_path / "prefect.db")

    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [(name, b"")]


def test_a_home_that_cannot_be_written_is_left_to_prefect(tables: Path, tmp_path: Path) -> None:
    (tmp_path / "home").write_text("a file")

    copy_tables(tables, tmp_path / "home" / "prefect.db")

    assert (tmp_path / "home").read_text() == "a file"


def test_a_database_of_another_version_is_named_with_what_to_do(tables: Path, tmp_path: Path) -> None:
    """The server ends at once and says the path, not that an application startup failed; one that is damaged too."""
    database = tmp_path / "prefect.db"
    copy_tables(tables, database)
    assert unusable(database) is None

    with closing(sqlite3.connect(database)) as rows, rows:
        rows.execute("UPDATE alembic_version SET version_num = 'newer'")
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


def test_of_servers_that_begin_at_once_one_makes_the_database(tables: Path, tmp_path: Path) -> None:
    """The others find it, and never replace it."""
    database = tmp_path / "prefect.db"

    def make_and_use(number: int) -> bool:
        copy_tables(tables, database)
        with closing(sqlite3.connect(database)) as rows, rows:
            rows.execute("INSERT INTO configuration (key, value) VALUES (?, '{}')", (str(number),))
        return revisions_of(database) == revisions_of(tables)

    with ThreadPoolExecutor(8) as servers:
        assert all(servers.map(make_and_use, range(8)))
    with closing(sqlite3.connect(database)) as rows:
        assert rows.execute("SELECT count(*) FROM configuration").fetchone() == (8,)
