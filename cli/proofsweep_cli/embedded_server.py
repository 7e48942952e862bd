"""The embedded Prefect server: a process with an environment and a folder of its own.

It has its own process session, so Ctrl-C in the terminal reaches the run and not the server. It ends when this process
ends, in any way: it reads a pipe whose other end is open here.
"""

import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

import httpx

from proofsweep.domain.errors import ConfigError
from proofsweep_cli.prefect_database import DATABASE

_START_SECONDS = 180.0  # the first start of a version of Prefect makes its tables
_HEALTH_SECONDS = 2.0  # for one health request
_POLL_SECONDS = 0.05
_END_SECONDS = 5.0  # for a regular end, before the server is killed

QUIET = {
    "DO_NOT_TRACK": "1",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "PREFECT_LOGGING_LEVEL": "WARNING",
    "PREFECT_LOGGING_INTERNAL_LEVEL": "CRITICAL",  # else it prints each event that a lost server does not accept
    "PREFECT_SERVER_LOGGING_LEVEL": "WARNING",
    "PREFECT_SERVER_UI_ENABLED": "false",
    "PREFECT_LOGGING_EXTRA_LOGGERS": "proofsweep",
    "PREFECT_LOGGING_TO_API_WHEN_MISSING_FLOW": "ignore",
}
_NO_SERVICES = {
    # These services look after deployments, work pools and automations every few seconds. A server that lives as long
    # as one command has none of these.
    f"PREFECT_SERVER_SERVICES_{service}_ENABLED": "false"
    for service in (
        *("CANCELLATION_CLEANUP", "CLEANUP_RECONCILER", "EVENT_PERSISTER", "FOREMAN", "LATE_RUNS"),
        *("PAUSE_EXPIRATIONS", "REPOSSESSOR", "SCHEDULER", "TRIGGERS"),
    )
}
ONE_RUN = _NO_SERVICES | {
    # Prefect forgets no flow run by itself, and nobody else looks after this database: it does so at each start.
    "PREFECT_SERVER_SERVICES_DB_VACUUM_ENABLED": "flow_runs",
    "PREFECT_SERVER_SERVICES_DB_VACUUM_RETENTION_PERIOD": str(90 * 86_400),  # seconds
    # Registering Prefect's own types of blocks takes a second. A type is registered too when its first block is saved.
    "PREFECT_SERVER_REGISTER_BLOCKS_ON_START": "false",
    # Else it is written down as done, and a later server of the same home would not do it either.
    "PREFECT_SERVER_MEMOIZE_BLOCK_AUTO_REGISTRATION": "false",
    # By default Prefect writes each task event alone. That takes more than half of the server's work, and locks SQLite
    # so often that the flow's own calls get a 503 and wait for seconds.
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_BATCH_SIZE": "500",
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_FLUSH_INTERVAL": "1",
}

_ERROR = re.compile(r"\(?[A-Za-z_][\w.]*(Error|Exception|Timeout|Exit)\b.*")
"""A line of a log with the name of an exception, as Python writes one at the end of its traceback."""


class PrefectIsAway(ConfigError):
    """No Prefect server can be used now. That may be over at the next try."""


@dataclass(slots=True)
class EmbeddedServer:
    home: Path
    port: int
    log: IO[bytes]
    process: subprocess.Popen[bytes]

    @classmethod
    def start(cls, home: Path) -> "EmbeddedServer":
        """Start a server whose database is in Prefect's home, on any free port of this machine."""
        # The system names a port that is free.
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = int(probe.getsockname()[1])
        log = TemporaryFile()  # noqa: SIM115 - closed with the server
        process = _begun(home, port, log)
        return cls(home, port, log, process)

    @property
    def url(self) -> str:
        return _url_at(self.port)

    @property
    def is_alive(self) -> bool:
        return self.process.poll() is None

    def restart(self) -> None:
        """Start it again at the same address, where Prefect's client looks for it for a minute."""
        self._end()
        self.process = _begun(self.home, self.port, self.log)

    def wait_until_up(self) -> None:
        """Return when it answers; PrefectIsAway, with what its log says, if it ends or does not answer in time."""
        deadline = time.monotonic() + _START_SECONDS
        # No proxy of the environment knows a way to this machine, and no certificate is asked for on it.
        with httpx.Client(trust_env=False, verify=False, timeout=_HEALTH_SECONDS) as client:  # noqa: S501 - see above
            while self.is_alive and time.monotonic() < deadline:
                with suppress(httpx.TransportError):
                    if client.get(f"{self.url}/health").is_success:
                        return
                time.sleep(_POLL_SECONDS)
        raise PrefectIsAway(f"The embedded Prefect server did not start: {self._why_not()}.")

    def close(self) -> None:
        self._end()
        self.log.close()

    def _end(self) -> None:
        # It ends when its standard input does.
        if self.process.stdin is not None:
            self.process.stdin.close()
        try:
            self.process.wait(timeout=_END_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def _why_not(self) -> str:
        """Return the line of its log that tells most: the last error, and for one of its database what to do."""
        lines = list(self._log_lines())
        if not lines:
            code = self.process.poll()
            if code is None:
                return f"no answer within {_START_SECONDS:.0f} s"
            return f"its process ended with {code}"
        errors = [line for line in lines if _ERROR.fullmatch(line)]
        why = (errors or lines)[-1].rstrip(".")
        # Who reads an error of SQLite would not guess which of many databases it is.
        if not any(_is_of_database(error) for error in errors):
            return why
        other = "if another version of Prefect made it, or it is damaged, let PREFECT_HOME name another folder"
        return f"{why}. Its database is {self.home / DATABASE}: {other}"

    def _log_lines(self) -> Iterator[str]:
        self.log.seek(0)
        text = self.log.read().decode(errors="replace")
        return filter(None, map(str.strip, text.splitlines()))


def _is_of_database(error: str) -> bool:
    return any(library in error for library in ("alembic", "sqlite", "sqlalchemy"))


def _begun(home: Path, port: int, log: IO[bytes]) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-P", "-m", "proofsweep_cli.server_process", str(port)]
    environment = _environment(home, _url_at(port))
    # In a session of its own, and with a pipe as its standard input: see above.
    return subprocess.Popen(  # noqa: S603 - our own program
        command,
        stdin=subprocess.PIPE,
        stdout=log,
        stderr=log,
        start_new_session=True,
        cwd=home,
        env=environment,
    )


def _url_at(port: int) -> str:
    return f"http://127.0.0.1:{port}/api"


def _is_of_prefect(name: str) -> bool:
    return name.upper().startswith("PREFECT_")


def _environment(home: Path, url: str) -> dict[str, str]:
    """Return the environment of the server: this process's own, but nothing that Prefect is told there.

    A team's settings are for its server: their database would be written into, and their login would be asked for.
    The database is named as seen from the home, the folder of the process, since a URL cannot hold each path.
    """
    others = {name: value for name, value in os.environ.items() if not _is_of_prefect(name)}
    own = {
        "PREFECT_API_URL": url,
        "PREFECT_HOME": str(home),
        "PREFECT_PROFILES_PATH": os.devnull,
        "PREFECT_SERVER_DATABASE_CONNECTION_URL": f"sqlite+aiosqlite:///{DATABASE}",
    }
    return others | QUIET | ONE_RUN | own
