"""The Prefect API of a process: the configured one, else one embedded server from the first run to the last."""

import os
import sys
import threading
import time
import tomllib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import httpx

from proofsweep.app import App
from proofsweep.config.certificates import require_certificates
from proofsweep.config.locations import without_secrets
from proofsweep.config.proxies import Proxies
from proofsweep.config.threads import background_thread
from proofsweep.domain.errors import ConfigError
from proofsweep_cli.embedded_server import QUIET, EmbeddedServer, PrefectIsAway
from proofsweep_tasks.prefect_home import prefect_home

_HEALTH_SECONDS = 10.0  # for one health request to a configured server
_THIS_MACHINE = ("localhost", "127.0.0.1", "::1")
_CHECK_SECONDS = 0.5
_LOST_SECONDS = 5.0  # of silence, after which a server is lost
_MOST_RESTARTS = 3  # of an embedded server during one run
_RESTART_SECONDS = 30.0  # in which an embedded server answers again; Prefect's client tries it for a minute


class PrefectApi(AbstractContextManager["PrefectApi"]):
    """Provides a Prefect API for as many runs as a process has; the embedded server ends with it.

    Prefect's client keeps the address that it has read first. So one server lives for the whole process, and when it
    must be started again, the client is told.
    """

    def __init__(self) -> None:
        self._own: EmbeddedServer | None = None
        for name, value in QUIET.items():
            os.environ.setdefault(name, value)

    def __exit__(self, *_error: object) -> None:
        if self._own is not None:
            os.environ.pop("PREFECT_API_URL", None)
            self._own.close()
            self._own = None

    def begin(self) -> EmbeddedServer | None:
        """Return the embedded server, which starts if it must, or None where another one is configured.

        PrefectIsAway if the configured one does not answer.
        """
        if self._own is None:
            _reach_this_machine_directly()
            require_certificates()
            home = prefect_home()
            url = configured_url()
            if url:
                _require_answer(url)
                return None
            self._start(home)
        elif not self._own.is_alive:
            self._own.close()
            self._start(self._own.home)
        return self._own

    def require(self) -> None:
        """Return when runs can begin; PrefectIsAway if they cannot, ConfigError if Prefect's home cannot be used."""
        server = self.begin()
        if server is not None:
            server.wait_until_up()

    def _start(self, home: Path) -> None:
        require_writable(home)
        self._own = EmbeddedServer.start(home)
        os.environ["PREFECT_API_URL"] = self._own.url
        # If Prefect is imported, its client already has the address of the server before this one.
        context = sys.modules.get("prefect.context")
        if context is not None:
            context.refresh_global_settings_context()


def _require_answer(url: str) -> None:
    if not is_there(url):
        fix = "start it, or unset PREFECT_API_URL to use an embedded one"
        raise PrefectIsAway(f"No Prefect server answers at {without_secrets(url)}; {fix}.")


@contextmanager
def prefect_api() -> Iterator[EmbeddedServer | None]:
    """Provide a Prefect API for the work inside: yield the embedded server, or None if one is configured."""
    with PrefectApi() as prefect:
        yield prefect.begin()


def _reach_this_machine_directly() -> None:
    """Let no proxy be on the way to this machine for Prefect either; ConfigError if one of the proxies cannot be used.

    Its client reads all of them, whatever it is to reach; networks in NO_PROXY it cannot read.
    """
    proxies = Proxies(os.environ)
    for kind in ("http", "https", "all"):
        proxies.to(kind, "a.host.elsewhere")
    hosts = dict.fromkeys([*_THIS_MACHINE, *proxies.exceptions])
    direct = ",".join(hosts)
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
    url = os.environ.get("PREFECT_API_URL")
    if url:
        return url
    profiles = _profiles()
    active = os.environ.get("PREFECT_PROFILE") or profiles.get("active")
    url = profiles.get("profiles", {}).get(active, {}).get("PREFECT_API_URL")
    if url is None:
        return None
    return str(url)


def _profiles() -> dict[str, Any]:
    """Read Prefect's profiles; there are none on most machines."""
    path = Path(os.environ.get("PREFECT_PROFILES_PATH") or prefect_home() / "profiles.toml")
    try:
        text = path.read_text(encoding="utf-8")
        return tomllib.loads(text)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError) as error:
        raise ConfigError(f"Prefect's profiles {path} cannot be read ({error}).") from error


def require_writable(home: Path) -> None:
    try:
        home.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=home):
            return
    except OSError as error:
        raise ConfigError(
            f"Prefect's home {home} cannot be written ({error.strerror}): let PREFECT_HOME name a folder that can be."
        ) from error


def prefect_watched(
    app: App, server: EmbeddedServer | None, on_lost: Callable[[], object]
) -> AbstractContextManager[object]:
    """Start an embedded server again if it ends beside the work, a few times.

    Call `on_lost` in another thread if the leg is settled and the work still waits for a server that is lost.
    """
    from prefect.settings import PREFECT_API_URL  # noqa: PLC0415 - seconds to import

    def watch(over: threading.Event) -> None:
        has_begun, restarts = False, 0
        answered_at = time.monotonic()
        while not over.wait(_CHECK_SECONDS):
            if server is not None and not server.is_alive and restarts < _MOST_RESTARTS:
                server.restart()
                restarts += 1
                # In this time, its silence is no loss: it starts.
                answered_at = time.monotonic() + _RESTART_SECONDS
            is_active = app.leg is not None or app.run_elsewhere is not None
            has_begun = has_begun or is_active
            # While a leg works, its end is waited for, with a server or without.
            if not has_begun or is_active or is_there(str(PREFECT_API_URL.value())):
                answered_at = max(answered_at, time.monotonic())
            elif time.monotonic() - answered_at >= _LOST_SECONDS:
                on_lost()
                return

    return background_thread("watch-prefect", watch)
