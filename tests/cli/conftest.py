"""For each test a folder and a key of the sandbox; commands run in this process."""

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from subprocess import CompletedProcess
from threading import Thread

import pytest

import proofsweep_sandbox as sandbox
from proofsweep_cli.app import run

from ..worlds import core

Command = Callable[..., CompletedProcess[str]]
Planned = Callable[..., dict[str, object]]


@pytest.fixture(scope="session")
def catalog(running: sandbox.Running, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of 26 samples: every kind, so every verdict and every reason not to be sent."""
    folder = tmp_path_factory.mktemp("catalog")
    sandbox.write_catalog(folder, running.operator, files=26)
    return folder


@pytest.fixture
def workdir(running: sandbox.Running, other_site: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory, and settings for the sandbox with a key for this test.

    The configured Prefect server is another web site, so no test here can start a flow.
    """
    monkeypatch.setenv("PREFECT_API_URL", other_site)
    return settle_in(running, tmp_path, monkeypatch)


def settle_in(running: sandbox.Running, place: Path, patch: pytest.MonkeyPatch) -> Path:
    """Make an empty working directory and go there; export the sandbox's address and a new tenant's key."""
    key_file = place / "key"
    key_file.write_text(running.operator.add_tenant(place.name).api_key)
    folder = place / "here"
    folder.mkdir()
    patch.chdir(folder)
    patch.setenv("PROOFSWEEP_SERVICE__BASE_URL", running.base_url)
    patch.setenv("PROOFSWEEP_SERVICE__API_KEY_FILE", str(key_file))
    return folder


@pytest.fixture
def proofsweep(workdir: Path, capsys: pytest.CaptureFixture[str]) -> Command:
    del workdir

    def command(*arguments: str | Path) -> CompletedProcess[str]:
        capsys.readouterr()
        code = run([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return CompletedProcess(arguments, code, out, err)

    return command


@pytest.fixture
def planned(proofsweep: Command) -> Planned:
    """Plan a catalog, and give what is said of it as JSON, which holds no text of Python."""

    def planned(*arguments: str | Path) -> dict[str, object]:
        done = proofsweep("plan", *arguments, "--json")
        assert (done.returncode, done.stderr) == (0, "")
        assert not [word for word in ("array(", "Counter(", "datetime.", "Path(") if word in done.stdout]
        found: dict[str, object] = json.loads(done.stdout)
        return found

    return planned


@pytest.fixture(scope="session")
def verified(running: sandbox.Running, catalog: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A results store with a run of the catalog, verified without Prefect, and the run's id; nobody changes it."""
    with pytest.MonkeyPatch.context() as patch:
        folder = settle_in(running, tmp_path_factory.mktemp("verified"), patch)
        return folder / "results", core.verified(catalog)


@pytest.fixture
def finished_run(workdir: Path, verified: tuple[Path, str]) -> str:
    """A run of the catalog in `results`, a copy of one that was verified once, and its key; give its id."""
    results, run_id = verified
    shutil.copytree(results, workdir / "results")
    shutil.copy(results.parents[1] / "key", workdir.parent / "key")
    return run_id


class _OtherSite(BaseHTTPRequestHandler):
    """A web site that answers every path with the same page."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>Welcome</title>")

    def log_message(self, *_: object) -> None:
        """Print nothing on stderr."""


@pytest.fixture(scope="session")
def other_site() -> Iterator[str]:
    """The base URL of a web site that is no partner service."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _OtherSite)
    with closing(server.socket):
        Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}).start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()
        server.server_close()
