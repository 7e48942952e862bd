"""A Prefect API for as long as a command runs: the one that is configured, else a server of our own.

Our own lives in a process session of its own, so that a Ctrl-C in the terminal reaches the run and not the server, and
it ends when this process does, however that ends: it watches a pipe whose other end is held here.
"""

import os
import socket
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx

from proofsweep.errors import ConfigError

_PATIENCE_SECONDS = 90.0
_ANSWER_SECONDS = 10.0
_POLL_SECONDS = 0.1
_QUIET = {
    "DO_NOT_TRACK": "1",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "PREFECT_LOGGING_LEVEL": "WARNING",
    "PREFECT_LOGGING_INTERNAL_LEVEL": "CRITICAL",  # it would print each event that a lost server does not take
    "PREFECT_SERVER_LOGGING_LEVEL": "WARNING",
    "PREFECT_SERVER_UI_ENABLED": "false",
    "PREFECT_LOGGING_EXTRA_LOGGERS": "proofsweep",
    "PREFECT_LOGGING_TO_API_WHEN_MISSING_FLOW": "ignore",
}
_IN_BATCHES = {
    # Written one by one, as Prefect does, events of tasks cost more than half of the server's work, and lock SQLite
    # so often that the flow's own calls are answered with 503 and wait for seconds.
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_BATCH_SIZE": "500",
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_FLUSH_INTERVAL": "1",
}


class EmbeddedServer:
    """A server that is starting, or up."""

    def __init__(self, process: subprocess.Popen[bytes], url: str, folder: TemporaryDirectory[str]) -> None:
        self.url = url
        self._process = process
        self._folder = folder

    @property
    def pid(self) -> int:
        """The server's process."""
        return self._process.pid

    def wait_until_up(self) -> None:
        """Come back when the server answers.

        Raises:
            ConfigError: it did not come up.
        """
        deadline = time.monotonic() + _PATIENCE_SECONDS
        with httpx.Client(trust_env=False, timeout=2.0) as client:
            while self._process.poll() is None and time.monotonic() < deadline:
                if _answers(client, self.url):
                    return
                time.sleep(_POLL_SECONDS)
        last = _log_in(self._folder).read_text(errors="replace").strip().splitlines()[-1:] or ["it said nothing"]
        raise ConfigError(f"The embedded Prefect server did not come up: {last[0]}")

    def close(self) -> None:
        """End the server, and leave nothing of it behind."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._folder.cleanup()


@contextmanager
def prefect_api() -> Iterator[EmbeddedServer | None]:
    """See that there is a Prefect API: the configured one (then None is given), else an embedded server, starting.

    Raises:
        ConfigError: nobody answers at the configured one.
    """
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    if url := _configured_url():
        _refuse_dead(url)
        yield None
        return
    server = _start()
    os.environ["PREFECT_API_URL"] = server.url
    try:
        yield server
    finally:
        os.environ.pop("PREFECT_API_URL", None)
        server.close()


def is_there(url: str) -> bool:
    """Say whether anybody answers at the address of a Prefect API; Prefect itself judges keys and certificates."""
    try:
        httpx.get(f"{url.rstrip('/')}/health", timeout=_ANSWER_SECONDS, verify=False)  # noqa: S501 - see above
    except (httpx.HTTPError, httpx.InvalidURL):
        return False
    return True


def _configured_url() -> str | None:
    """Give the server that the environment or the active Prefect profile names, without importing Prefect for it."""
    if url := os.environ.get("PREFECT_API_URL"):
        return url
    home = Path(os.environ.get("PREFECT_HOME") or Path.home() / ".prefect")
    path = Path(os.environ.get("PREFECT_PROFILES_PATH") or home / "profiles.toml")
    try:
        written = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise ConfigError(f"Prefect's profiles {path} cannot be read ({error}).") from error
    active = os.environ.get("PREFECT_PROFILE") or written.get("active")
    url = written.get("profiles", {}).get(active, {}).get("PREFECT_API_URL")
    return None if url is None else str(url)


def _refuse_dead(url: str) -> None:
    if not is_there(url):
        raise ConfigError(
            f"No Prefect server answers at {url}; start it, or unset PREFECT_API_URL to have one brought along."
        )


def _log_in(folder: TemporaryDirectory[str]) -> Path:
    return Path(folder.name) / "server.log"


def _start() -> EmbeddedServer:
    port, folder = _free_port(), TemporaryDirectory(prefix="proofsweep-prefect-")
    url = f"http://127.0.0.1:{port}/api"
    with _log_in(folder).open("wb") as sink:
        process = subprocess.Popen(  # noqa: S603 - our own program
            [sys.executable, "-m", "cli.server_process", str(port)],
            stdin=subprocess.PIPE,
            stdout=sink,
            stderr=sink,
            start_new_session=True,
            env=_IN_BATCHES | os.environ | {"PREFECT_API_URL": url},
        )
    return EmbeddedServer(process, url, folder)


def _answers(client: httpx.Client, url: str) -> bool:
    try:
        return client.get(f"{url}/health").is_success
    except httpx.TransportError:
        return False


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
