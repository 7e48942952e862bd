"""Fixtures and rules for every test: settings of its own, and no skip in CI for a missing part."""

import logging
import os
import signal
import ssl
from collections import deque
from collections.abc import Generator, Iterator
from contextlib import nullcontext
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController

if TYPE_CHECKING:
    import proofsweep_sandbox as sandbox

    from .servers.alert_receivers import Webhook
    from .servers.buckets import AzureServer, S3Server

KEPT = ("PROOFSWEEP_CI", "PROOFSWEEP_CORPUS", "PROOFSWEEP_SOAK_")
"""How our only variables begin that a test run may inherit; the person who runs it may have set others."""

LONGEST = {"test_interleavings.py", "test_numbers_of_ten_nights.py", "test_worlds.py", "test_crashed_runs.py"}


def pytest_configure(config: pytest.Config) -> None:
    """Give Prefect an empty home before it is imported, and remove the settings of the person who runs the tests."""
    for name in list(os.environ):
        if name.startswith(("PREFECT_", "PROOFSWEEP_")) and not name.startswith(KEPT):
            del os.environ[name]
    home = TemporaryDirectory(prefix="proofsweep-tests-", ignore_cleanup_errors=True)
    config.add_cleanup(home.cleanup)
    # No test leaves this machine, and each HTTP client reads all authorities, which takes longer than most tests.
    authority = Path(home.name, "authority.pem")
    authority.write_text(ssl.DER_cert_to_PEM_cert(httpx.create_ssl_context().get_ca_certs(binary_form=True)[0]))
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):  # each run with alerts would read all of theirs
        os.environ.pop(name, None)
    os.environ |= {
        "SSL_CERT_FILE": str(authority),
        "DO_NOT_TRACK": "1",
        "PROOFSWEEP_CATALOG__DEDUPE": "false",  # a test's many rows are often a few files
        "PREFECT_HOME": home.name,
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_WORKER_QUERY_SECONDS": "1",  # a test's worker need not wait ten seconds for its flow run
    }
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell's background job: each process that a test starts
        signal.signal(signal.SIGINT, signal.default_int_handler)  # would ignore the Ctrl-C that the test sends
    signal.signal(signal.SIGTERM, _interrupt)
    is_whole_run = config.args_source is not pytest.Config.ArgsSource.ARGS
    is_worker = hasattr(config, "workerinput")
    if is_whole_run and not is_worker and config.getoption("numprocesses", None):
        config.pluginmanager.register(_SharedPrefect(config))


def _interrupt(_number: int, _frame: object) -> None:
    """End as after Ctrl-C, so that the tests stop their servers; a second signal does not disturb that."""
    signal.signal(signal.SIGTERM, lambda *_: None)
    raise KeyboardInterrupt


def pytest_xdist_auto_num_workers() -> int:
    """Use two workers more than there are processors: tests wait for other processes half of the time."""
    return (os.cpu_count() or 1) + 2


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put a file of unit tests behind each other file: these calculate while those wait.

    The longest come first: begun last, one of them would keep a processor busy while the other one is idle.
    """
    files: dict[Path, list[pytest.Item]] = {}
    for item in sorted(items, key=lambda item: item.path.name not in LONGEST):
        files.setdefault(item.path, []).append(item)
    units = deque(tests for path, tests in files.items() if "unit" in path.parts)
    items.clear()
    for path, tests in files.items():
        if "unit" not in path.parts:
            items += tests + (units.popleft() if units else [])
    items += chain.from_iterable(units)


_COMPOSED = {"test_composed_system", "test_two_days", "test_workers_end"}
"""Files whose tests use the composed system."""


class _SlowFirst(LoadFileScheduling):
    """Gives each file to one worker, in the order in which they are collected.

    The tests of the composed system go to one worker, and those of buckets to one: their servers start once.
    """

    def _split_scope(self, nodeid: str) -> str:
        file = Path(super()._split_scope(nodeid))
        is_composed = file.stem in _COMPOSED
        return str(file.parent if is_composed or file.parent.name == "buckets" else file)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> _SlowFirst:
    """Begin with the slowest folders, so that no worker is alone with a slow file at the end."""
    config.option.loadscopereorder = False
    return _SlowFirst(config, log)


@pytest.fixture(autouse=True)
def _own_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the settings for every test: a demo in this process removes them all."""
    for name in [name for name in os.environ if name.startswith(KEPT)]:
        monkeypatch.setenv(name, os.environ[name])
    monkeypatch.setenv("PROOFSWEEP_CATALOG__DEDUPE", "false")


class _SharedPrefect:
    """One Prefect server for the workers of a whole run: each that is idle costs a fiftieth of a processor."""

    def __init__(self, config: pytest.Config) -> None:
        from proofsweep_cli.embedded_server import EmbeddedServer  # noqa: PLC0415 - Prefect reads the environment

        self._server = EmbeddedServer.start(Path(os.environ["PREFECT_HOME"]))
        config.add_cleanup(self._server.close)

    @pytest.hookimpl
    def pytest_configure_node(self, node: WorkerController) -> None:
        node.workerinput["prefect"] = self._server.url, str(self._server.home)


@pytest.fixture(scope="session")
def prefect_at(request: pytest.FixtureRequest) -> Iterator[tuple[str, Path]]:
    """A Prefect server for all tests of a worker, or of all workers: its URL and its home."""
    from proofsweep_cli.prefect_api import is_there, prefect_api  # noqa: PLC0415 - Prefect reads the environment

    from .worlds.waiting import wait_for  # noqa: PLC0415 - few tests need it

    url, home = getattr(request.config, "workerinput", {}).get("prefect", ("", os.environ["PREFECT_HOME"]))
    if url:
        wait_for(lambda: is_there(url))
        os.environ["PREFECT_API_URL"] = url
    with prefect_api() as own:
        del os.environ["PREFECT_API_URL"]
        if own is not None:
            own.wait_until_up()
            url = own.url
        yield url, Path(home)


@pytest.fixture(scope="session")
def prefect_url(prefect_at: tuple[str, Path]) -> str:
    """That server's URL; a test sets PREFECT_API_URL for itself."""
    return prefect_at[0]


@pytest.fixture
def prefect_here(prefect_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """That server for the flows of this process, without heartbeats: their thread ends a second late."""
    monkeypatch.setenv("PREFECT_API_URL", prefect_url)
    from prefect import settings  # noqa: PLC0415 - it reads the environment on import

    chosen = {settings.PREFECT_API_URL: prefect_url, settings.PREFECT_FLOWS_HEARTBEAT_FREQUENCY: None}
    with settings.temporary_settings(chosen):
        yield prefect_url


@pytest.fixture
def without_prefect(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let commands verify in this process, where it makes no difference that a flow does the work."""
    from proofsweep_cli import run_flow, runs_in_turn, verify  # noqa: PLC0415 - few tests need them

    from .worlds import core  # noqa: PLC0415 - the same

    def verify_here(request: Any, run: Any, bounds: Any, server: object, *, goes_on: bool) -> None:  # noqa: ANN401 - the core's
        del server, goes_on
        core.work(run.plan.run_id, 1, request.config, request.results, bounds=bounds)

    monkeypatch.setattr(run_flow, "_run", verify_here)
    monkeypatch.setattr(logging, "raiseExceptions", False)  # Prefect's handler wants a flow for each line
    monkeypatch.setattr(verify, "prefect_api", nullcontext)
    monkeypatch.setattr(runs_in_turn, "prefect_api", nullcontext)


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[sandbox.Running]":
    """One sandbox process, shared by all tests of a worker."""
    import proofsweep_sandbox as sandbox  # noqa: PLC0415 - few tests need it

    with sandbox.launch(tmp_path_factory.mktemp("sandbox") / "home") as running:
        yield running


@pytest.fixture
def hook(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> "Iterator[Webhook]":
    """A webhook to which the settings have alerts sent."""
    from .servers.alert_receivers import webhook  # noqa: PLC0415 - few tests need it

    with webhook() as hook:
        (tmp_path / "urls").write_text(f"{hook.url}\n")
        monkeypatch.setenv("PROOFSWEEP_ALERTS__URLS_FILE", str(tmp_path / "urls"))
        yield hook


@pytest.fixture(scope="session")
def moto(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[S3Server]":
    """Moto's S3, one for all tests of a worker."""
    from .servers import buckets  # noqa: PLC0415 - few tests need a bucket

    with buckets.moto(tmp_path_factory.mktemp("moto")) as server:
        yield server


@pytest.fixture(scope="session")
def azurite(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[AzureServer]":
    """Azurite's Azure Blob Storage, one for all tests of a worker."""
    from .servers import buckets  # noqa: PLC0415

    with buckets.azurite(tmp_path_factory.mktemp("azurite")) as server:
        yield server


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Fail a test that skips for a missing part in CI, where `.ci/run` installs all parts."""
    report = yield
    if report.skipped and os.environ.get("PROOFSWEEP_CI") == "1" and _lacks_a_part(report):
        report.outcome = "failed"
    return report


def _lacks_a_part(report: pytest.TestReport) -> bool:
    """Return whether a skip is for a missing part: its reason begins with "needs"."""
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
    return reason.removeprefix("Skipped: ").startswith("needs ")
