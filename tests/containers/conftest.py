"""The composition in containers, started once for all tests here."""

import os
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import proofsweep_sandbox as sandbox

from .running_composition import RunningComposition, checkout


def every_minute(deployments: str) -> str:
    """Let the deployments that have a schedule run every minute: no test waits for the night."""
    return re.sub(r'cron: "(0 1 \* \* \*|\*/10 7-19 \* \* 1-5)"', 'cron: "* * * * *"', deployments)


@pytest.fixture(scope="session")
def unused_checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout in which nothing was started."""
    if "proofsweep-engine" not in os.environ.get("DOCKER_HOST", ""):
        pytest.skip("needs a container engine of its own: make containers")
    folder = tmp_path_factory.mktemp("unused") / "proofsweep"
    checkout(folder)
    return folder


@pytest.fixture(scope="session")
def running(unused_checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningComposition]:
    """The composition after `make up`, as a trial, with schedules of every minute."""
    folder = tmp_path_factory.mktemp("used") / "proofsweep"
    checkout(folder)
    (folder / "prefect.yaml").write_text(every_minute((unused_checkout / "prefect.yaml").read_text()))
    with sandbox.Operator("http://127.0.0.1:8727") as operator:
        composition = RunningComposition(folder, operator)
        composition.run("make", "up")
        yield composition
        composition.run("make", "down")
        composition.api.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Print the minutes of each test with what its fixtures did."""
    began = time.monotonic()
    result = yield
    print(f"\n  {(time.monotonic() - began) / 60:4.1f} min  {item.name}", flush=True)  # noqa: T201 - for who waits
    return result
