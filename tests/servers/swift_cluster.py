"""The store of the composition, as a program for the tests: two users, short pages, and nothing kept for a power cut.

    python swift_cluster.py FOLDER

It prints its URL as one line, and serves until its standard input ends, so that it ends with the process that started
it. `deploy/` is on its path.
"""

import os
import socket
import sys
import threading
from importlib import import_module
from pathlib import Path

store = import_module("store")  # of deploy/, which is no package


def main() -> None:
    """Serve until the standard input ends."""
    os.fsync = os.fdatasync = lambda _: None  # no test is about a power cut
    store.LOGINS |= {"tests:owner": "secret+of/the-owner", "tests:stranger": "secret+of/the-stranger"}
    store.STRANGERS.add("tests:stranger")
    entrance = socket.create_server(("127.0.0.1", 0), backlog=4096)
    print(f"http://127.0.0.1:{entrance.getsockname()[1]}", flush=True)  # noqa: T201 -- connections wait in the backlog
    threading.Thread(target=_end_with_stdin, daemon=True).start()
    store.serve(Path(sys.argv[1]), entrance, region="north-1", page_keys=int(os.environ["SWIFT_PAGE_KEYS"]))


def _end_with_stdin() -> None:
    sys.stdin.read()
    store.end()


if __name__ == "__main__":
    main()
