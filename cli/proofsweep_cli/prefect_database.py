"""The database of the embedded Prefect server.

Prefect's hundred migrations take most of the time of a first start. So Prefect makes its tables once for each of its
versions, in the user's cache, and each new home gets a copy.
"""

import fcntl
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

DATABASE = "prefect.db"  # in Prefect's home, which is the folder of the server's process
# Prefect has a file for each migration, with its revision in its name.
_MIGRATIONS = "server/database/_migrations/versions/sqlite"
_UPGRADE = ["-P", "-m", "prefect", "server", "database", "upgrade", "--yes"]


@contextmanager
def tables_made(database: Path) -> Iterator[None]:
    """Make the database if it is missing; let Prefect look for migrations only if it may need them."""
    from prefect.settings import PREFECT_API_DATABASE_MIGRATE_ON_START, temporary_settings  # noqa: PLC0415 - seconds

    tables = cached_tables()
    if tables is not None:
        copy_tables(tables, database)
        if revisions_of(database) == revisions_of(tables):
            with temporary_settings({PREFECT_API_DATABASE_MIGRATE_ON_START: False}):
                yield
            return
    yield


def cached_tables() -> Path | None:
    """Return an empty database with all tables of this version of Prefect; None if no cache can be kept.

    The first call of a version takes as long as Prefect's migrations; others wait for it meanwhile.
    """
    # RuntimeError: the user has no home. Without a cache, Prefect makes the tables itself, only later.
    with suppress(OSError, RuntimeError, sqlite3.Error, subprocess.CalledProcessError):
        caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        tables = caches / "proofsweep" / f"prefect-{version('prefect')}.db"
        if tables.exists():
            return tables
        tables.parent.mkdir(parents=True, exist_ok=True)
        with tables.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            # Another process may have made them while this one waited.
            if not tables.exists():
                _make_tables(tables)
        return tables
    return None


def _make_tables(tables: Path) -> None:
    """Let Prefect make its database. What a team's profile says of another database does not count."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    environment["PREFECT_PROFILES_PATH"] = os.devnull
    # In the same folder, so that the last step is a rename: nobody finds half a database.
    with TemporaryDirectory(dir=tables.parent) as folder:
        environment["PREFECT_HOME"] = folder
        command = [sys.executable, *_UPGRADE]
        subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=True)  # noqa: S603 - our Prefect
        new = Path(folder, DATABASE)
        with closing(sqlite3.connect(new)) as connection:
            # As Prefect sets it: two servers would contend for that.
            connection.execute("PRAGMA journal_mode = WAL")
        new.replace(tables)


def copy_tables(tables: Path, database: Path) -> None:
    """Copy a database with all tables at once, never over another one; where this fails, Prefect makes it."""
    wal = database.with_name(f"{database.name}-wal")
    journal = database.with_name(f"{database.name}-journal")
    # SQLite would add what remains of an older database to a new file.
    if any(os.path.lexists(path) for path in (database, wal, journal)):
        return
    with suppress(OSError):
        database.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=".prefect-tables-", dir=database.parent) as folder:
            copy = shutil.copy(tables, folder)
            # A link is made at once, and fails where another process was faster.
            os.link(copy, database)


def revisions_of(database: Path) -> list[str] | None:
    """Return which migrations a database has seen last; None if that cannot be read."""
    with suppress(sqlite3.Error):
        return _revisions_of(database)
    return None


def unusable(database: Path) -> str | None:
    """Return why Prefect could not use a database; it takes long to find out, and says it in many lines.

    Prefect has a migration for each revision of its own versions and of older ones.
    """
    if not database.exists():
        return None
    try:
        revisions = _revisions_of(database)
    # There is no such table yet, or another server makes it.
    except sqlite3.OperationalError:
        return None
    except sqlite3.DatabaseError as error:
        return f"cannot be read ({error})"
    migrations = _package_of_prefect() / _MIGRATIONS
    for revision in revisions:
        if not any(migrations.glob(f"*_{revision}_*")):
            return "was made by another version of Prefect"
    return None


def _package_of_prefect() -> Path:
    """Return where Prefect is installed, without importing it."""
    spec = find_spec("prefect")
    (folder,) = (spec and spec.submodule_search_locations) or [""]
    return Path(folder)


def _revisions_of(database: Path) -> list[str]:
    url = f"{database.as_uri()}?mode=rw"
    with closing(sqlite3.connect(url, uri=True)) as connection:
        rows = connection.execute("SELECT version_num FROM alembic_version")
        return [revision for (revision,) in rows]
