"""A sandbox, a Prefect server and a sample catalog for all tests here; each test has a key and a folder of its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import sandbox

from ..worlds.sandbox_world import Samples, SandboxWorld, open_account


@pytest.fixture(scope="session")
def samples(running: sandbox.Running, tmp_path_factory: pytest.TempPathFactory) -> Samples:
    """A catalog folder of 300 files with every verdict, and the verdict of each file."""
    folder = tmp_path_factory.mktemp("catalog")
    return Samples(folder, sandbox.write_catalog(folder, running.operator, files=300))


@pytest.fixture
def world(
    running: sandbox.Running, prefect_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[SandboxWorld]:
    """Everything that a test needs to run commands against the shared servers."""
    yield open_account(running, prefect_url, tmp_path, monkeypatch)
    running.operator.clear_faults()
    running.operator.set_lane(2000, 4000)
