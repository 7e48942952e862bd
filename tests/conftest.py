"""What holds for every test: a world of its own, and no quiet skip where all parts were promised."""

import fcntl
import os
import shutil
from collections.abc import Generator, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .servers.buckets import AzureServer, S3Server

KEPT = {"PROOFSWEEP_CI", "PROOFSWEEP_CORPUS", "PROOFSWEEP_SOAK_KILLS", "PROOFSWEEP_SOAK_LEGS"}
"""The only variables of ours that a test run may inherit: whoever runs it has settings of their own."""


def pytest_configure(config: pytest.Config) -> None:
    """Give Prefect an empty home before anything imports it, and forget the settings of whoever runs the tests."""
    for name in list(os.environ):
        if name.startswith(("PREFECT_", "PROOFSWEEP_")) and name not in KEPT:
            del os.environ[name]
    home = TemporaryDirectory(prefix="proofsweep-tests-", ignore_cleanup_errors=True)
    config.add_cleanup(home.cleanup)
    os.environ |= {
        "DO_NOT_TRACK": "1",
        "PROOFSWEEP_CATALOG__DEDUPE": "false",  # a test's many rows are often a few files
        "PREFECT_HOME": home.name,
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    }


def pytest_xdist_auto_num_workers() -> int:
    """Use one more than there are processors: a third of the time, a test waits for somebody else."""
    return (os.cpu_count() or 1) + 1


@pytest.fixture(autouse=True)
def _each_row_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the setting for every test: a demo that ran in this process forgets all of them."""
    monkeypatch.setenv("PROOFSWEEP_CATALOG__DEDUPE", "false")


@pytest.fixture(scope="session")
def prefect_tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with Prefect's tables, made once for all workers: three quarters of a first start are spent on it."""
    base = tmp_path_factory.getbasetemp()
    home = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "prefect-tables"
    home.mkdir(exist_ok=True)
    with (home / "lock").open("w") as lock, pytest.MonkeyPatch.context() as environ:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (home / "done").exists():
            environ.setenv("PREFECT_HOME", str(home))
            _start_prefect_once()
            (home / "done").touch()
    return home / "prefect.db"


@pytest.fixture(scope="session")
def prefect_url(prefect_tables: Path) -> Iterator[str]:
    """One Prefect server for all tests of a worker; a test sets PREFECT_API_URL for itself."""
    from cli.embedded_server import prefect_api  # noqa: PLC0415 - after the environment is what it shall be

    database = Path(os.environ["PREFECT_HOME"]) / "prefect.db"
    if not database.exists():
        shutil.copy(prefect_tables, database)
    with prefect_api() as server:
        assert server is not None
        del os.environ["PREFECT_API_URL"]
        server.wait_until_up()
        yield server.url


def _start_prefect_once() -> None:
    from cli.embedded_server import prefect_api  # noqa: PLC0415 - as above

    with prefect_api() as server:
        assert server is not None
        server.wait_until_up()


@pytest.fixture(scope="session")
def swift(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[S3Server]":
    """OpenStack Swift's S3, one for all tests of a worker."""
    from .servers import buckets  # noqa: PLC0415 - few tests need a bucket

    with buckets.swift(tmp_path_factory.mktemp("swift")) as server:
        yield server


@pytest.fixture(scope="session")
def moto(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[S3Server]":
    """Moto's S3, one for all tests of a worker."""
    from .servers import buckets  # noqa: PLC0415

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
    """Fail a test that skips for a missing part where `.ci/run` has seen to all parts."""
    report = yield
    if report.skipped and os.environ.get("PROOFSWEEP_CI") == "1" and _lacks_a_part(report):
        report.outcome = "failed"
    return report


def _lacks_a_part(report: pytest.TestReport) -> bool:
    """Tell a skip for a missing part by its reason, which begins with "needs"."""
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
    return reason.removeprefix("Skipped: ").startswith("needs ")
