"""A sandbox, a Prefect server and a sample catalog for all tests here; each test has a key and a folder of its own."""

import csv
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset
import pytest

import sandbox
from cli.app import run

PATIENCE_SECONDS = 120.0


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sandbox.Running]:
    """One sandbox process, shared."""
    with sandbox.launch(tmp_path_factory.mktemp("sandbox") / "home") as running:
        yield running


@pytest.fixture(scope="session")
def samples(running: sandbox.Running, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[sandbox.Sample]]:
    """A catalog folder of 300 files with every verdict, and what each file must come to."""
    folder = tmp_path_factory.mktemp("catalog")
    return folder, sandbox.write_catalog(folder, running.operator, files=300)


@dataclass
class World:
    """One test's key, folder and commands."""

    folder: Path
    tenant: str
    key_file: Path
    operator: sandbox.Operator

    @property
    def results(self) -> Path:
        """Where this test's results go."""
        return self.folder / "results"

    def manifest(self, samples: Iterable[sandbox.Sample]) -> str:
        """Write a manifest of samples, in their order, with a tag and an id for each row; give its path."""
        path = self.folder / "catalog.csv"
        with path.open("w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["audio", "sidecar", "id", "ISRC"])
            for number, sample in enumerate(samples):
                rows.writerow([sample.audio, sample.sidecar or "", f"item-{number}", f"XX{number}"])
        return str(path)

    def run(self, *arguments: str) -> int:
        """Run a command in this process; give its exit code."""
        return run([*arguments, "--results", str(self.results)])

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start a command as a process of its own, as a person would."""
        command = [sys.executable, "-m", "cli", *arguments, "--results", str(self.results)]
        log = (self.folder / f"log-{time.monotonic_ns()}.txt").open("w")
        with log:
            return subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, text=True)

    def table(self, name: str) -> list[dict[str, object]]:
        """Read a whole table as a plain reader would."""
        found = pyarrow.dataset.dataset(self.results / name, format="parquet").to_table()
        assert isinstance(found, pa.Table)
        return found.to_pylist()

    def rows(self) -> list[dict[str, object]]:
        """Read the verdicts in the order of the manifest."""
        return sorted(self.table("verdicts"), key=lambda row: int(str(row["manifest_row"])))

    def journalled(self, leg: int) -> bool:
        """Say whether a leg has written down finished rows."""
        return any(self.results.glob(f"_runs/*/journal/{leg:03}/verdicts-*"))

    def wait_for(self, holds: Callable[[], bool]) -> None:
        """Come back when something holds, soon."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not holds():
            assert time.monotonic() < deadline, "it never came to hold"
            time.sleep(0.02)


@pytest.fixture
def world(
    running: sandbox.Running, prefect_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[World]:
    """Everything that a test needs to run commands against the shared servers."""
    key = running.operator.add_tenant(tmp_path.name)
    key_file = tmp_path / "key"
    key_file.write_text(key.api_key)
    monkeypatch.setenv("PROOFSWEEP_SERVICE__BASE_URL", running.base_url)
    monkeypatch.setenv("PROOFSWEEP_SERVICE__API_KEY_FILE", str(key_file))
    monkeypatch.setenv("PREFECT_API_URL", prefect_url)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path for path in sys.path if path))
    yield World(tmp_path, key.tenant, key_file, running.operator)
    running.operator.clear_faults()
    running.operator.set_lane(2000, 4000)
