"""A Prefect API while a command runs: the configured one, else an embedded server.

The embedded server has its own process session, so Ctrl-C in the terminal reaches the run and not the server. It ends
when this process ends, in any way: it reads a pipe whose other end is open here.
"""

import os
import socket
import subprocess
import sys
import threading
import time
import tomllib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

import httpx

from proofsweep.app import App
from proofsweep.config.proxies import Proxies
from proofsweep.config.threads import background_thread
from proofsweep.domain.errors import ConfigError

_START_SECONDS = 90.0
_HEALTH_SECONDS = 10.0  # for one health request to a configured server
_LOCAL_HEALTH_SECONDS = 2.0  # for one to the embedded server
_POLL_SECONDS = 0.1
_END_SECONDS = 5.0  # for a regular end, before the server is killed

_QUIET = {
    "DO_NOT_TRACK": "1",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "PREFECT_LOGGING_LEVEL": "WARNING",
    "PREFECT_LOGGING_INTERNAL_LEVEL": "CRITICAL",  # else it prints each event that a lost server does not accept
    "PREFECT_SERVER_LOGGING_LEVEL": "WARNING",
    "PREFECT_SERVER_UI_ENABLED": "false",
    "PREFECT_LOGGING_EXTRA_LOGGERS": "proofsweep",
    "PREFECT_LOGGING_TO_API_WHEN_MISSING_FLOW": "ignore",
}
_ONE_RUN = {
    # These services look after deployments, work pools and automations, or clean up, every few seconds. A server that
    # lives as long as one command has none of these.
    f"PREFECT_SERVER_SERVICES_{service}_ENABLED": "false"
    for service in (
        *("CANCELLATION_CLEANUP", "CLEANUP_RECONCILER", "DB_VACUUM", "EVENT_PERSISTER", "FOREMAN", "LATE_RUNS"),
        *("PAUSE_EXPIRATIONS", "REPOSSESSOR", "SCHEDULER", "TRIGGERS"),
    )
} | {
    # Registering Prefect's own types of blocks takes a second. A type is registered too when its first block is saved.
    "PREFECT_SERVER_REGISTER_BLOCKS_ON_START": "false",
    # Else it is written down as done, and a later server of the same home would not do it either.
    "PREFECT_SERVER_MEMOIZE_BLOCK_AUTO_REGISTRATION": "false",
    # By default Prefect writes each task event alone. That takes more than half of the server's work, and locks SQLite
    # so often that the flow's own calls get a 503 and wait for seconds.
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_BATCH_SIZE": "500",
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_FLUSH_INTERVAL": "1",
}
_THIS_MACHINE = ("localhost", "127.0.0.1", "::1")
_CHECK_SECONDS = 0.5
_LOST_SECONDS = 5.0  # of silence, after which a server is lost


@dataclass(frozen=True, slots=True)
class EmbeddedServer:
    process: subprocess.Popen[bytes]
    url: str
    log: IO[bytes]

    def wait_until_up(self) -> None:
        deadline = time.monotonic() + _START_SECONDS
        with httpx.Client(trust_env=False, timeout=_LOCAL_HEALTH_SECONDS) as client:
            while self.process.poll() is None and time.monotonic() < deadline:
                with suppress(httpx.TransportError):
                    if client.get(f"{self.url}/health").is_success:
                        return
                time.sleep(_POLL_SECONDS)
        self.log.seek(0)
        last = self.log.read().decode(errors="replace").strip().splitlines()[-1:] or ["its log is empty"]
        raise ConfigError(f"The embedded Prefect server did not start: {last[0]}")

    def close(self) -> None:
        if self.process.stdin is not None:
            self.process.stdin.close()
        try:
            self.process.wait(timeout=_END_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


@contextmanager
def prefect_api() -> Iterator[EmbeddedServer | None]:
    """Provide a Prefect API: the configured one (then yield None), else an embedded server that starts.

    ConfigError if the configured one does not answer.
    """
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    _reach_this_machine_directly()
    if url := configured_url():
        if not is_there(url):
            fix = "start it, or unset PREFECT_API_URL to use an embedded one"
            raise ConfigError(f"No Prefect server answers at {url}; {fix}.")
        yield None
        return
    require_writable_home()
    with TemporaryFile() as log:
        server = _start(log)
        os.environ["PREFECT_API_URL"] = server.url
        try:
            yield server
        finally:
            os.environ.pop("PREFECT_API_URL", None)
            server.close()


def _reach_this_machine_directly() -> None:
    """Let no proxy be on the way to this machine for Prefect either; ConfigError if one of the proxies cannot be used.

    Its client reads all of them, whatever it is to reach; networks in NO_PROXY it cannot read.
    """
    proxies = Proxies(os.environ)
    for kind in ("http", "https", "all"):
        proxies.to(kind, "a.host.elsewhere")
    direct = ",".join([*_THIS_MACHINE, *proxies.exceptions])
    os.environ.update({"no_proxy": direct, "NO_PROXY": direct})


def is_there(url: str) -> bool:
    """Return whether a server answers at the address of a Prefect API; Prefect itself checks keys and certificates."""
    try:
        httpx.get(f"{url.rstrip('/')}/health", timeout=_HEALTH_SECONDS, verify=False)  # noqa: S501 - see above
    except (httpx.HTTPError, httpx.InvalidURL):
        return False
    return True


def configured_url() -> str | None:
    """Return the server that the environment or the active Prefect profile names, without importing Prefect."""
    if url := os.environ.get("PREFECT_API_URL"):
        return url
    path = Path(os.environ.get("PREFECT_PROFILES_PATH") or _prefect_home() / "profiles.toml")
    try:
        profiles = tomllib.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise ConfigError(f"Prefect's profiles {path} cannot be read ({error}).") from error
    active = os.environ.get("PREFECT_PROFILE") or profiles.get("active")
    url = profiles.get("profiles", {}).get(active, {}).get("PREFECT_API_URL")
    return None if url is None else str(url)


def _prefect_home() -> Path:
    try:
        return Path(os.environ.get("PREFECT_HOME") or "~/.prefect").expanduser()
    except RuntimeError as error:
        raise ConfigError("This user has no home, where Prefect keeps its database: set PREFECT_HOME.") from error


def require_writable_home() -> None:
    home = _prefect_home()
    try:
        home.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=home):
            return
    except OSError as error:
        raise ConfigError(
            f"Prefect's home {home} cannot be written ({error.strerror}): let PREFECT_HOME name a folder that can be."
        ) from error


def _start(log: IO[bytes]) -> EmbeddedServer:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    url = f"http://127.0.0.1:{port}/api"
    process = subprocess.Popen(  # noqa: S603 - our own program
        [sys.executable, "-m", "proofsweep_cli.server_process", str(port)],
        stdin=subprocess.PIPE,
        stdout=log,
        stderr=log,
        start_new_session=True,
        env=_ONE_RUN | os.environ | {"PREFECT_API_URL": url},
    )
    return EmbeddedServer(process, url, log)


def prefect_watched(app: App, on_lost: Callable[[], object]) -> AbstractContextManager[object]:
    """Call `on_lost` in another thread if the leg is settled and the work still waits for a server that is lost."""
    from prefect.settings import PREFECT_API_URL  # noqa: PLC0415 - seconds to import

    def watch(over: threading.Event) -> None:
        has_begun, answered_at = False, time.monotonic()
        while not over.wait(_CHECK_SECONDS):
            is_active = app.leg is not None or app.run_elsewhere is not None
            has_begun = has_begun or is_active
            if not has_begun or is_active or is_there(str(PREFECT_API_URL.value())):
                answered_at = time.monotonic()
            elif time.monotonic() - answered_at >= _LOST_SECONDS:
                on_lost()
                return

    return background_thread("watch-prefect", watch)
