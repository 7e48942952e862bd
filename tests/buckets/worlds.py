"""One test's key, settings and results store in a bucket, and the commands that a person would run with them."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import sandbox
from cli.app import run
from proofsweep.results import TableName, open_results

from ..servers.buckets import Bucket

PATIENCE_SECONDS = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Everything that a test needs to run commands with results in `bucket`."""

    folder: Path
    tenant: str
    operator: sandbox.Operator
    bucket: Bucket

    @property
    def results(self) -> str:
        """Where this test's results go."""
        return f"{self.bucket.url}/results"

    @property
    def charged(self) -> int:
        """How many calls the service has charged to this test's key."""
        return sum(key["limit"] - key["remaining"] for key in self.operator.usage(self.tenant))

    @property
    def logs(self) -> str:
        """All that the started commands have said."""
        return "".join(path.read_text() for path in sorted(self.folder.glob("log-*")))

    def run(self, *arguments: str) -> int:
        """Run a command in this process; give its exit code."""
        return run([*arguments, "--results", self.results])

    def start(self, *arguments: str) -> "subprocess.Popen[bytes]":
        """Start a command as a process of its own, as a person would."""
        command = [sys.executable, "-m", "cli", *arguments, "--results", self.results]
        with (self.folder / f"log-{time.monotonic_ns()}").open("wb") as log:
            return subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env=dict(os.environ))

    def table(self, name: TableName) -> list[dict[str, object]]:
        """Read a whole table."""
        return open_results(self.results).table(name).to_pylist()

    def rows(self) -> list[dict[str, object]]:
        """Read the verdicts in the order of the catalog."""
        return sorted(self.table("verdicts"), key=lambda row: int(str(row["manifest_row"])))

    def legs(self) -> list[dict[str, object]]:
        """Read the rows of the legs, in their order."""
        return sorted(self.table("runs"), key=lambda leg: int(str(leg["leg"])))

    def journalled(self, leg: int) -> int:
        """Count what a leg has written into its journal of verdicts."""
        mark = f"/journal/{leg:03}/"
        return sum(mark in key and "verdicts" in key for key in self.bucket.keys("results/_runs"))

    def wait_for(self, holds: Callable[[], object]) -> None:
        """Come back when something holds, soon."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not holds():
            assert time.monotonic() < deadline, f"it never came to hold\n{self.logs}"
            time.sleep(0.05)


def deliver(folder: Path, bucket: Bucket, prefix: str) -> None:
    """Put all files of a folder into a bucket, below a prefix."""

    def put(path: Path) -> None:
        bucket.put(f"{prefix}/{path.relative_to(folder).as_posix()}", path.read_bytes())

    with ThreadPoolExecutor(8) as workers:
        list(workers.map(put, [path for path in folder.rglob("*") if path.is_file()]))


def write_manifest(samples: Sequence[sandbox.Sample], folder: Path, prefix: str) -> bytes:
    """Give a manifest of samples that lie below `prefix`, in their order."""

    def cell(path: Path | None) -> str:
        text = "" if path is None else f"{prefix}/{path.relative_to(folder).as_posix()}"
        return '"' + text.replace('"', '""') + '"'

    lines = [f"{cell(sample.audio)},{cell(sample.sidecar)},item-{at}" for at, sample in enumerate(samples)]
    return "\n".join(["audio,sidecar,id", *lines, ""]).encode()
