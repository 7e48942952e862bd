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
_MIGRATIONS = (
    "server/database/_migrations/versions/sqlite"  # of Prefect: a file for each, with its revision in its name
)
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
    with suppress(OSError, RuntimeError, sqlite3.Error, subprocess.CalledProcessError):  # RuntimeError: no home
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "proofsweep"
        tables = cache / f"prefect-{version('prefect')}.db"
        if tables.exists():
            return tables
        cache.mkdir(parents=True, exist_ok=True)
        with tables.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not tables.exists():
                _make_tables(tables)
        return tables
    return None


def _make_tables(tables: Path) -> None:
    """Let Prefect make its database. What a team's profile says of another database does not count."""
    with TemporaryDirectory(dir=tables.parent) as folder:  # so that the last step is a rename
        others = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
        own = {"PREFECT_HOME": folder, "PREFECT_PROFILES_PATH": os.devnull}
        subprocess.run(  # noqa: S603 - the Prefect of this environment
            [sys.executable, *_UPGRADE], cwd=folder, env=others | own, capture_output=True, check=True
        )
        new = Path(folder, DATABASE)
        with closing(sqlite3.connect(new)) as made:
            made.execute("PRAGMA journal_mode = WAL")  # as Prefect sets it: two servers would contend for that
        new.replace(tables)


def copy_tables(tables: Path, database: Path) -> None:
    """Copy a database with all tables at once, never over another one; where this fails, Prefect makes it."""
    remains = [database.with_name(f"{database.name}-{kind}") for kind in ("wal", "journal")]
    if any(os.path.lexists(path) for path in (database, *remains)):  # SQLite would add what remains to a new file
        return
    with suppress(OSError):
        database.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=".prefect-tables-", dir=database.parent) as folder:
            os.link(shutil.copy(tables, folder), database)


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
        found = _revisions_of(database)
    except sqlite3.OperationalError:  # no such table yet, or another server makes it
        return None
    except sqlite3.DatabaseError as error:
        return f"cannot be read ({error})"
    spec = find_spec("prefect")
    (prefect,) = (spec and spec.submodule_search_locations) or [""]
    for revision in found:
        if not any(Path(prefect, _MIGRATIONS).glob(f"*_{revision}_*")):
            return "was made by another version of Prefect"
    return None


def _revisions_of(database: Path) -> list[str]:
    with closing(sqlite3.connect(f"{database.as_uri()}?mode=rw", uri=True)) as tables:
        return [revision for (revision,) in tables.execute("SELECT version_num FROM alembic_version")]
