"""The embedded Prefect server's own process: serves until its standard input ends."""

import os
import sys
import threading
import time

import uvicorn

_GRACE_SECONDS = 3.0


def main() -> None:
    """Serve Prefect's API on the loopback port that is given as the one argument."""
    from prefect.server.api.server import create_app  # noqa: PLC0415 - after the environment has been read

    config = uvicorn.Config(create_app(), host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
    server = uvicorn.Server(config)
    threading.Thread(target=_end_with_parent, args=(server,), daemon=True).start()
    server.run()


def _end_with_parent(server: uvicorn.Server) -> None:
    """Wait for the end of standard input, which comes when the parent closes it or is gone."""
    sys.stdin.buffer.read()
    server.should_exit = True
    time.sleep(_GRACE_SECONDS)
    os._exit(0)


if __name__ == "__main__":
    main()
