"""A foreign service and a Prefect server for all tests here; each test has a catalog and a folder of its own."""

import csv
import hashlib
import os
import subprocess
import sys
import time
import wave
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset
import pytest

from cli.app import run

from ..servers.buckets import Bucket, S3Server
from .foreign_service import KEY, Foreign

PATIENCE_SECONDS = 60.0
RUNNER = str(Path(__file__).with_name("bare_runner.py"))
NewRunner = Callable[[], "Runner"]


@dataclass(slots=True)
class World:
    """One test's service, key, catalog and commands.

    Attributes:
        bucket: where the results are instead of in a folder.
    """

    folder: Path
    service: Foreign
    key_file: Path
    bucket: Bucket | None = None

    @property
    def results_url(self) -> str:
        """Where this test's results go."""
        return str(self.folder / "results") if self.bucket is None else f"{self.bucket.url}/results"

    @property
    def results(self) -> Path:
        """The results as a plain reader has them: of a bucket a copy of its plans and tables as they are now."""
        if self.bucket is not None:
            for key in self.bucket.keys("results"):
                if key.endswith((".parquet", "plan.json")) and not (self.folder / key).exists():
                    (self.folder / key).parent.mkdir(parents=True, exist_ok=True)
                    (self.folder / key).write_bytes(self.bucket.content(key))
        return self.folder / "results"

    @property
    def runs(self) -> list[str]:
        """The runs that were planned, oldest first."""
        return sorted(path.parent.name for path in self.results.glob("_runs/*/plan.json"))

    def catalog(self, *verdicts: str) -> str:
        """Write one small WAV for each verdict, and a manifest of them; give its path."""
        path = self.folder / "catalog.csv"
        with path.open("w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["audio"])
            for number, verdict in enumerate(verdicts):
                audio = self.folder / f"{number}.wav"
                _write_wav(audio, number)
                self.service.verdicts[hashlib.sha256(audio.read_bytes()).hexdigest()] = verdict
                rows.writerow([audio])
        return str(path)

    def run(self, *arguments: str) -> int:
        """Run a command in this process; give its exit code."""
        return run([*arguments, "--results", self.results_url])

    def start(self, *arguments: str) -> "subprocess.Popen[bytes]":
        """Start a command as a process of its own."""
        command = [sys.executable, "-m", "cli", *arguments, "--results", self.results_url]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def table(self, name: str) -> list[dict[str, object]]:
        """Read a whole table as a plain reader would; one that has no part yet is empty."""
        results = self.results
        if not any(results.glob(f"{name}/*/*.parquet")):
            return []
        found = pyarrow.dataset.dataset(results / name, format="parquet").to_table()
        assert isinstance(found, pa.Table)
        return found.to_pylist()

    def rows(self) -> list[dict[str, object]]:
        """Read the verdicts in the order of the manifest."""
        return sorted(self.table("verdicts"), key=lambda row: int(str(row["manifest_row"])))

    def legs(self) -> list[dict[str, object]]:
        """Read the rows of the legs, in their order."""
        return sorted(self.table("runs"), key=lambda leg: int(str(leg["leg"])))

    def journalled_ids(self) -> set[str]:
        """Give the request IDs that a killed process would leave behind."""
        segments = [
            pa.ipc.open_stream(path.read_bytes()) for path in self.results.glob("_runs/*/journal/*/exchanges-*")
        ]
        return {str(one) for segment in segments for one in segment.read_all()["request_id"].to_pylist()}

    def wait_for(self, holds: Callable[[], bool]) -> None:
        """Come back when something holds, soon."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not holds():
            assert time.monotonic() < deadline, "it never came to hold"
            time.sleep(0.02)


def _write_wav(path: Path, seed: int) -> None:
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 2, 8_000, 0, "NONE", ""))
        file.writeframes(seed.to_bytes(4, "big") * 400)


@dataclass(slots=True)
class Runner:
    """The program that works on runs without an orchestrator, a process for each job."""

    process: "subprocess.Popen[str]"

    def begin(self, job: str) -> int:
        """Give it a job; give the number of the job's process."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{job}\n")
        self.process.stdin.flush()
        return self.exit_code()

    def exit_code(self) -> int:
        """Wait for the end of the job that was begun, and say how it ended."""
        assert self.process.stdout is not None
        return int(self.process.stdout.readline())

    def do(self, job: str) -> int:
        """Do a job; say how it ended."""
        self.begin(job)
        return self.exit_code()


@pytest.fixture
def new_runner() -> Iterator[NewRunner]:
    """Start such a program, under the settings as they are then."""
    running: list[subprocess.Popen[str]] = []

    def start() -> Runner:
        pipe, silent = subprocess.PIPE, subprocess.DEVNULL
        command = [sys.executable, RUNNER]
        running.append(subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=silent, text=True))
        return Runner(running[-1])

    yield start
    for process in running:
        process.kill()
        process.communicate()


@pytest.fixture
def service() -> Iterator[Foreign]:
    """One such service for each test."""
    service = Foreign()
    service.open()
    yield service
    service.shut()


@pytest.fixture
def bare_world(service: Foreign, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """Everything that a test needs to work on runs, which retry and give up within moments."""
    key_file = tmp_path / "key"
    key_file.write_text(f"{KEY}\n")
    settings = {
        "SERVICE__BASE_URL": service.base_url,
        "SERVICE__API_KEY_FILE": str(key_file),
        "SERVICE__ENVIRONMENT": "elsewhere",
        "RETRY__FIRST_WAIT_SECONDS": "0.01",
        "RETRY__LONGEST_WAIT_SECONDS": "0.1",
        "RETRY__BREAKER_SECONDS": "1",
        "PACE__LONGEST_PAUSE_SECONDS": "3",
    }
    for name, value in settings.items():
        monkeypatch.setenv(f"PROOFSWEEP_{name}", value)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path for path in sys.path if path))
    world = World(tmp_path, service, key_file)
    monkeypatch.setenv("PROOFSWEEP_RESULTS__URL", world.results_url)
    return world


@pytest.fixture
def bucket_world(bare_world: World, moto: S3Server, monkeypatch: pytest.MonkeyPatch) -> World:
    """Such a world with its results in a bucket."""
    bare_world.bucket = moto.new_bucket()
    nowhere = str(bare_world.folder / "no-such-profile")
    own = {"AWS_CONFIG_FILE": nowhere, "AWS_SHARED_CREDENTIALS_FILE": nowhere}
    for name, value in {**bare_world.bucket.environment, **own}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PROOFSWEEP_RESULTS__URL", bare_world.results_url)
    return bare_world


@pytest.fixture
def world(bare_world: World, prefect_url: str, monkeypatch: pytest.MonkeyPatch) -> World:
    """Such a world with a Prefect server, to run commands in."""
    monkeypatch.setenv("PREFECT_API_URL", prefect_url)
    return bare_world
