"""The process of the embedded Prefect server: it serves until its standard input ends."""

import os
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from proofsweep_cli.imports import no_garbage_looked_for
from proofsweep_cli.prefect_database import DATABASE, tables_made, unusable
from proofsweep_tasks.working_folder import without_files_of_the_folder

if TYPE_CHECKING:
    from uvicorn import Server

_GRACE_SECONDS = 3.0  # bounds a regular end; then the process exits


def main() -> None:
    """Serve Prefect's API on the loopback port given as the only argument."""
    without_files_of_the_folder()
    database = Path.cwd() / DATABASE
    why = unusable(database)
    if why is not None:
        sys.exit(f"its database {database} {why}: let PREFECT_HOME name another folder.")
    serving: list[Server] = []
    threading.Thread(target=_end_with_parent, args=(serving,), daemon=True).start()
    with no_garbage_looked_for():
        import uvicorn  # noqa: PLC0415 - the import takes seconds, and the parent may end in them
        from prefect.server.api.server import create_app  # noqa: PLC0415

    port = int(sys.argv[1])
    config = uvicorn.Config(create_app(), host="127.0.0.1", port=port, log_level="warning")
    serving.append(uvicorn.Server(config))
    with tables_made(database):
        serving[0].run()
    # Its services have ended and its database is closed. Python would take another second to forget its modules, in
    # which the parent waits.
    sys.stdout.flush()
    os._exit(0)


def _end_with_parent(serving: "list[Server]") -> None:
    """Wait for the end of standard input: the parent closed it or ended."""
    # Not by sys.stdin.read: an import may need the lock of its buffer.
    while os.read(sys.stdin.fileno(), 1):
        pass
    for server in serving:
        server.should_exit = True
        time.sleep(_GRACE_SECONDS)
    os._exit(0)


if __name__ == "__main__":
    main()
