"""The process of the embedded Prefect server: it serves until its standard input ends.

A new database gets its tables without Prefect's hundred migrations, which are most of the time of a first start:
`prefect_tables.sql` is what the migrations of one version make (CONTRIBUTING.md); another version makes its tables
itself.
"""

import os
import sqlite3
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from proofsweep_tasks.working_folder import without_files_of_the_folder

if TYPE_CHECKING:
    from uvicorn import Server

DATABASE = "prefect.db"  # in Prefect's home, which is the folder of this process
SCRIPT = Path(__file__).with_name("prefect_tables.sql")
_MIGRATIONS = (
    "server/database/_migrations/versions/sqlite"  # of Prefect: a file for each, with its revision in its name
)
_GRACE_SECONDS = 3.0  # bounds a regular end; then the process exits


def main() -> None:
    """Serve Prefect's API on the loopback port given as the only argument."""
    without_files_of_the_folder()
    database = Path.cwd() / DATABASE
    if (why := unusable(database)) is not None:
        sys.exit(f"its database {database} {why}: let PREFECT_HOME name another folder.")
    serving: list[Server] = []
    threading.Thread(target=_end_with_parent, args=(serving,), daemon=True).start()
    import uvicorn  # noqa: PLC0415 - the import takes seconds, and the parent may end in them
    from prefect.server.api.server import create_app  # noqa: PLC0415

    config = uvicorn.Config(create_app(), host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
    serving.append(uvicorn.Server(config))
    with tables_made():
        serving[0].run()


def _end_with_parent(serving: "list[Server]") -> None:
    """Wait for the end of standard input: the parent closed it or ended."""
    while os.read(sys.stdin.fileno(), 1):  # not sys.stdin.read: an import may need the lock of its buffer
        pass
    for server in serving:
        server.should_exit = True
        time.sleep(_GRACE_SECONDS)
    os._exit(0)


@contextmanager
def tables_made() -> Iterator[None]:
    """Make the database if it is missing; let Prefect look for migrations only if it may need them."""
    from prefect import __version__  # noqa: PLC0415 - seconds to import
    from prefect.settings import (  # noqa: PLC0415
        PREFECT_API_DATABASE_MIGRATE_ON_START,
        get_current_settings,
        temporary_settings,
    )

    database, script = get_current_settings().home / DATABASE, SCRIPT.read_text("utf-8")
    if script.startswith(heading(__version__)):
        make_database(database, script)
        if is_current(database, script):
            with temporary_settings({PREFECT_API_DATABASE_MIGRATE_ON_START: False}):
                yield
            return
    yield


def make_database(database: Path, script: str) -> None:
    """Make a database with all tables, at once and never over another one; where this fails, Prefect makes it."""
    remains = [database.with_name(f"{database.name}-{kind}") for kind in ("wal", "journal")]
    if any(os.path.lexists(path) for path in (database, *remains)):  # SQLite would add what remains to a new file
        return
    with suppress(OSError, sqlite3.Error):
        database.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=".prefect-tables-", dir=database.parent) as folder:
            new = Path(folder) / "new.db"
            with closing(sqlite3.connect(new)) as tables:
                tables.execute("PRAGMA journal_mode = WAL")  # as Prefect sets it: two servers would contend for that
                tables.executescript(script)
            os.link(new, database)


def unusable(database: Path) -> str | None:
    """Return why Prefect could not use a database; it takes long to find out, and says it in many lines.

    Prefect has a migration for each revision of its own versions and of older ones.
    """
    if not database.exists():
        return None
    try:
        with closing(sqlite3.connect(f"{database.as_uri()}?mode=rw", uri=True)) as tables:
            found = tables.execute("SELECT version_num FROM alembic_version").fetchall()
    except sqlite3.OperationalError:  # no such table yet, or another server makes it
        return None
    except sqlite3.DatabaseError as error:
        return f"cannot be read ({error})"
    spec = find_spec("prefect")
    (prefect,) = (spec and spec.submodule_search_locations) or [""]
    for (revision,) in found:
        if not any(Path(prefect, _MIGRATIONS).glob(f"*_{revision}_*")):
            return "was made by another version of Prefect"
    return None


def is_current(database: Path, script: str) -> bool:
    """Return whether the last migration of a database is the last one of the script."""
    with suppress(sqlite3.Error), closing(sqlite3.connect(f"{database.as_uri()}?mode=rw", uri=True)) as tables:
        found = tables.execute("SELECT version_num FROM alembic_version").fetchall()
        return len(found) == 1 and f"INSERT INTO \"alembic_version\" VALUES('{found[0][0]}');" in script
    return False


def heading(version: str) -> str:
    return f"-- The tables of Prefect {version} (Apache License 2.0), as its migrations make them\n"


if __name__ == "__main__":
    main()
