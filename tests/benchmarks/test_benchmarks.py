"""These tests check that each benchmark can be run, and that two print their tables; people measure the figures."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
QUICK = {"planning": "| 2,000 |", "lanes": "R2 B2"}
SLOW = {path.stem for path in (ROOT / "benchmarks").glob("*.py") if "argparse" in path.read_text()} - {
    *QUICK,
    "__main__",
}
"""Benchmarks that start the program several times or fill a store: `make soak` runs them, this only loads them."""

LOAD = """
import runpy, sys
for name in sys.argv[1:]:
    sys.argv = [name, "--help"]
    try:
        runpy.run_module(f"benchmarks.{name}", run_name="__main__")
    except SystemExit as ended:
        assert ended.code == 0, name
"""


def test_each_slow_benchmark_can_be_loaded() -> None:
    """Its imports and its options are right."""
    ended = subprocess.run([sys.executable, "-c", LOAD, *sorted(SLOW)], cwd=ROOT, check=False, capture_output=True)

    assert ended.returncode == 0, ended.stderr.decode()
    assert ended.stdout.count(b"usage:") == len(SLOW)


@pytest.mark.parametrize("name", QUICK)
def test_each_quick_benchmark_runs_at_a_tiny_size(name: str) -> None:
    """docs/performance.md shows their output, and no other test runs them."""
    command = [sys.executable, "-m", "benchmarks", "--quick", name]

    ended = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True, timeout=200)

    assert ended.returncode == 0, ended.stderr
    assert QUICK[name] in ended.stdout
