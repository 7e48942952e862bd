"""`proofsweep overview`: all accounts on one screen, as JSON and as a page; a Prefect server says what is next."""

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from subprocess import CompletedProcess
from threading import Thread

import pytest

Command = Callable[..., CompletedProcess[str]]

AT = datetime.now(UTC).replace(microsecond=0) + timedelta(hours=3)


class _PrefectApi(BaseHTTPRequestHandler):
    """Answers as the API of Prefect does: two deployments' next runs, and a worker."""

    catalog = ""

    def do_POST(self) -> None:
        """Answer a filter."""
        self.rfile.read(int(self.headers["Content-Length"]))
        run = {"deployment_id": "d1", "expected_start_time": AT.isoformat(), "parameters": {"catalog": self.catalog}}
        answers = {
            "/api/deployments/filter": [{"id": "d1", "name": "nightly"}],
            "/api/flow_runs/filter": [run, run | {"deployment_id": None}],
            "/api/work_pools/filter": [{"name": "proofsweep"}],
            "/api/work_pools/proofsweep/workers/filter": [{"name": "w1", "last_heartbeat_time": AT.isoformat()}],
        }
        body = json.dumps(answers[self.path]).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Print nothing on stderr."""


@pytest.fixture
def prefect(catalog: Path, workdir: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A server that has planned a run of the catalog."""
    del workdir
    monkeypatch.setattr(_PrefectApi, "catalog", str(catalog))
    server = ThreadingHTTPServer(("127.0.0.1", 0), _PrefectApi)
    with closing(server.socket):
        Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}).start()
        monkeypatch.setenv("PREFECT_API_URL", f"http://127.0.0.1:{server.server_port}/api")
        yield
        server.shutdown()
        server.server_close()


def test_the_screen_the_object_and_the_page_say_the_same(
    proofsweep: Command, finished_run: str, prefect: None, catalog: Path
) -> None:
    """A catalog that was verified once, its key, and the next run that a server has planned for it."""
    del prefect
    screen = proofsweep("overview", "--html", "overview.html")
    found = json.loads(proofsweep("overview", "--json").stdout)
    page = Path("overview.html").read_text()

    (line,) = found["catalogs"]
    assert screen.returncode == 0, screen.stderr
    assert (line["catalog"], line["files"], line["last_run"]) == (str(catalog), 26, finished_run)
    assert datetime.fromisoformat(line["next_run"]) == AT
    assert len(found["keys"]) == 1
    assert found["legs"] == []
    assert [machine["name"] for machine in found["machines"]] == ["w1 (worker of proofsweep)"]
    for text in (str(catalog), f"{line['remaining']:,}", f"{AT:%Y-%m-%d %H:%M} UTC", found["keys"][0]["fingerprint"]):
        assert text in screen.stdout
        assert text in page


def test_a_server_that_is_no_prefect_is_said_so(proofsweep: Command, finished_run: str) -> None:
    """The rest is shown, and the exit code is 0; without a run, too."""
    del finished_run
    there, empty = proofsweep("overview"), proofsweep("overview", "--results", "nothing")

    assert (there.returncode, empty.returncode) == (0, 0)
    assert "The Prefect server does not say what is next" in there.stdout
    assert "No account has a run yet" in empty.stdout


def test_without_a_server_nothing_is_said_of_one(
    proofsweep: Command, finished_run: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A person without Prefect need not hear of it."""
    del finished_run
    monkeypatch.delenv("PREFECT_API_URL")

    done = proofsweep("overview")

    assert (done.returncode, done.stderr) == (0, "")
    assert "Prefect" not in done.stdout
