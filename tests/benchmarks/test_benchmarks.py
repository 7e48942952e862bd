"""Figures are for people to measure; that each script still runs, and says something, is for a test."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SAYS = {
    "cpu_per_file": "| 4 KiB | 2 |",
    "memory": "| 300 |",
    "planning": "| 2,000 |",
    "first_byte": "Prefect's home warm",
    "bucket_copy": "times a copy",
    "lanes": "R2 B2",
    "lane_in_real_time": "the simulation",
    "night": "Unexplained: 0.",
    "prefect_tasks": "a task for each shard",
    "sandbox_rate": "one file of 1 MiB",
}
RUNS = {"lane_in_real_time", "night"}
"""Those that verify catalogs one after another, and need no Prefect server of their own each time."""


@pytest.mark.parametrize("name", SAYS)
def test_each_benchmark_runs_at_a_tiny_size(name: str, prefect_url: str, prefect_tables: Path, tmp_path: Path) -> None:
    """What they print is in docs/performance.md, and nobody else would notice that they broke."""
    environment = {name: value for name, value in os.environ.items() if name != "PREFECT_API_URL"}
    if name in RUNS:
        environment["PREFECT_API_URL"] = prefect_url
    else:  # a server of its own need not make its tables once more
        database = shutil.copy(prefect_tables, tmp_path)
        environment["PREFECT_API_DATABASE_CONNECTION_URL"] = f"sqlite+aiosqlite:///{database}"

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
    """A script is a benchmark if it can be asked what it measures, and no child of another."""
    scripts = {path.stem for path in (ROOT / "benchmarks").glob("*.py")}

    assert scripts - {"__main__", "children", "core_client", "curl_client", "lane_plot", "null_service"} == set(SAYS)
