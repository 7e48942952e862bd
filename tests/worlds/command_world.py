"""What all worlds share: one test's folder, its commands, and the tables that they write."""

import ctypes
import io
import json
import os
import subprocess
import sys
import time
import wave
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow.dataset
import pytest

from proofsweep_cli.app import run

from .started_command import ForkedProcess, run_command
from .waiting import wait_for

Row = dict[str, Any]
"""One row of a table; each cell has its column's type."""


@dataclass(slots=True)
class CommandWorld:
    """Everything that a test needs to run commands with results of their own."""

    folder: Path

    @property
    def results(self) -> Path:
        return self.folder / "results"

    @property
    def results_url(self) -> str:
        """What a command is given as the place of the results."""
        return str(self.results)

    @property
    def logs(self) -> str:
        return "".join(path.read_text() for path in sorted(self.folder.glob("log-*")))

    def run(self, *arguments: str) -> int:
        return run([*arguments, "--results", self.results_url])

    def told(self, *arguments: str) -> Any:  # noqa: ANN401 - a document
        return told(*arguments, "--results", self.results_url)

    def flow(self, name: str, *arguments: str, **options: object) -> Any:  # noqa: ANN401 - Prefect's state
        """Run a flow as a deployment does; give the state in which it ends."""
        flow = getattr(import_module(f"proofsweep_flows.{name}"), name)  # Prefect reads its settings on import
        return flow(*arguments, results=self.results_url, return_state=True, **options)

    def start(self, *arguments: str, before: Callable[[], None] | None = None) -> ForkedProcess:
        """Start a command as a process of its own, as a person would; a function may change that process first."""
        log = self.folder / f"log-{time.monotonic_ns()}.txt"
        return ForkedProcess(run_command, [*arguments, "--results", self.results_url], log, before)

    def table(self, name: str) -> list[Row]:
        return rows_in(self.results, name)

    def rows(self) -> list[Row]:
        return sorted(self.table("verdicts"), key=lambda row: int(row["manifest_row"]))

    def legs(self) -> list[Row]:
        return sorted(self.table("runs"), key=lambda leg: int(leg["leg"]))

    def writers(self) -> list[int]:
        """Return the process IDs of the worker processes that have finished rows."""
        found = self.results.glob("_runs/*/journal/*/verdicts-*")
        return sorted({int(path.name.split("-")[1].partition("_")[0]) for path in found})

    def wait_for(self, holds: Callable[[], object]) -> None:
        wait_for(holds, lambda: self.logs)


def rows_in(results: Path, table: str = "verdicts") -> list[Row]:
    """Read a whole table as an ordinary Parquet reader does; a table without a part is empty."""
    if not any(results.glob(f"{table}/*/*.parquet")):
        return []
    return list(pyarrow.dataset.dataset(results / table, format="parquet").to_table().to_pylist())


def wav_of(frames: bytes) -> bytes:
    """Return a WAV with these frames, of two bytes each."""
    written = io.BytesIO()
    with wave.open(written, "wb") as file:
        file.setparams((1, 2, 8_000, 0, "NONE", ""))
        file.writeframes(frames)
    return written.getvalue()


@contextmanager
def mounted_disk(place: Path, size: str = "4m") -> Iterator[Path]:
    """Mount a file system of a few bytes at a new folder."""
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", place]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("needs the right to mount a small file system")
    try:
        yield place
    finally:
        if place.is_mount():
            unmount(place)


def mount_dead_share(place: Path) -> None:
    """Mount a file system whose server is gone: whatever is asked there fails with ENOTCONN."""
    server = os.open("/dev/fuse", os.O_RDWR) if os.access("/dev/fuse", os.W_OK) else None
    if server is None:
        pytest.skip("needs the device of file systems in user space")
    options = f"fd={server},rootmode=40000,user_id=0,group_id=0"
    failed = ctypes.CDLL(None).mount(b"gone", os.fsencode(place), b"fuse", 0, options.encode())
    os.close(server)
    if failed:
        pytest.skip("needs the right to mount a file system")


def unmount(place: Path) -> None:
    subprocess.run(["umount", "--lazy", place], check=True)


def fill(filler: Path) -> None:
    """Fill the disk of a file."""
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(4096))


def said(*arguments: str) -> str:
    with redirect_stdout(io.StringIO()) as out:
        run([*arguments])
    return out.getvalue()


def told(*arguments: str) -> Any:  # noqa: ANN401 - a document
    return json.loads(said(*arguments, "--json"))


def export_settings(monkeypatch: pytest.MonkeyPatch, settings: dict[str, str]) -> None:
    """Set our settings by their variables, and let started processes import what this one imports."""
    for name, text in settings.items():
        monkeypatch.setenv(f"PROOFSWEEP_{name}", text)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path for path in sys.path if path))
