"""Print Prefect's tables as its migrations make them, for `prefect_tables.sql` beside this (CONTRIBUTING.md)."""

import asyncio
import os
import sqlite3
import sys
from contextlib import closing
from tempfile import TemporaryDirectory

from proofsweep_cli.server_process import heading


def main() -> None:
    with TemporaryDirectory(prefix="proofsweep-prefect-") as home:
        os.environ["PREFECT_HOME"] = home
        os.environ["PREFECT_SERVER_DATABASE_CONNECTION_URL"] = f"sqlite+aiosqlite:///{home}/prefect.db"
        from prefect import __version__  # noqa: PLC0415 - it reads the environment on import
        from prefect.server.database import provide_database_interface  # noqa: PLC0415

        asyncio.run(provide_database_interface().create_db())
        with closing(sqlite3.connect(f"{home}/prefect.db")) as tables:
            sys.stdout.write(heading(__version__))
            sys.stdout.writelines(f"{line.rstrip()}\n" for line in "\n".join(tables.iterdump()).splitlines())


if __name__ == "__main__":
    main()
