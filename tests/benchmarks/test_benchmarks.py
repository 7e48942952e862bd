"""These tests check that each benchmark runs and prints its table; people measure the figures."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SAYS = {
    "cpu_per_file": "| 4 KiB | 2 |",
    "memory": "| 60 |",
    "planning": "| 2,000 |",
    "start": "| `status` |",
    "first_byte": "Prefect's home warm",
    "forecast": "| four workers |",
    "a_year": "| verify, its start |",
    "answers": "| rejects |",
    "lanes": "R2 B2",
    "lane_in_real_time": "the simulation",
    "lane_of_processes": "| all processes |",
    "night": "Unexplained: 0.",
    "prefect_tasks": "a task for each batch",
    "processes": "| dask, processes: 1 |",
}
SLOW = {
    "a_year",
    "answers",
    "cpu_per_file",
    "first_byte",
    "forecast",
    "lane_in_real_time",
    "lane_of_processes",
    "memory",
    "night",
    "prefect_tasks",
    "processes",
    "start",
}
"""Benchmarks that start the program several times or fill a store: `--quick` runs them, this only loads them."""


@pytest.mark.parametrize("name", sorted(SLOW))
def test_each_slow_benchmark_can_be_loaded(name: str) -> None:
    """Its imports and its options are right."""
    command = [sys.executable, "-m", f"benchmarks.{name}", "--help"]

    assert subprocess.run(command, cwd=ROOT, check=False, capture_output=True, timeout=100).returncode == 0


@pytest.mark.parametrize("name", sorted(SAYS.keys() - SLOW))
def test_each_benchmark_runs_at_a_tiny_size(name: str, prefect_tables: Path, tmp_path: Path) -> None:
    """docs/performance.md shows their output, and no other test runs them."""
    environment = {name: value for name, value in os.environ.items() if name != "PREFECT_API_URL"}
    database = shutil.copy(prefect_tables, tmp_path)  # a server of its own starts faster with tables that exist
    environment["PREFECT_API_DATABASE_CONNECTION_URL"] = f"sqlite+aiosqlite:///{database}"
    environment["PATH"] = str(Path(sys.executable).parent)  # the same on a machine that has rclone by chance

    ended = subprocess.run(
        [sys.executable, "-m", "benchmarks", "--quick", name],
        cwd=ROOT,
        check=False,
        env=environment,
        capture_output=True,
        text=True,
        timeout=200,
    )

    assert ended.returncode == 0, ended.stderr
    assert SAYS[name] in ended.stdout


def test_every_benchmark_is_among_them() -> None:
    """A script that measures something is a benchmark; the others are only used by benchmarks."""
    scripts = {path.stem for path in (ROOT / "benchmarks").glob("*.py")}

    parts = {
        "built_store",
        "children",
        "core_client",
        "lane_process",
        "curl_client",
        "gated_sandbox",
        "lane_plot",
        "null_service",
    }
    assert scripts - parts - {"__main__"} == set(SAYS)
