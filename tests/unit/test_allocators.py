"""The memory of a long run is given back to the system."""

import os
import subprocess
import sys

import pytest

ASK = "import {package}, pyarrow; print(pyarrow.default_memory_pool().backend_name)"


def arrow_allocator(package: str, **variables: str) -> str:
    """Ask a process that imports a package which allocator Arrow uses."""
    environment = {name: value for name, value in os.environ.items() if name != "ARROW_DEFAULT_MEMORY_POOL"}
    command = [sys.executable, "-c", ASK.format(package=package)]
    ended = subprocess.run(command, env=environment | variables, capture_output=True, text=True, check=True)
    return ended.stdout.strip()


@pytest.mark.parametrize("package", ["cli", "flows", "tasks"])
def test_each_process_of_a_run_has_the_small_allocator(package: str) -> None:
    """The command, a flow that a Prefect worker starts, and a task that Dask starts choose before Arrow is there."""
    assert arrow_allocator(package) == "system"


def test_choice_of_a_person_stays() -> None:
    """Who sets Arrow's variable gets what it says; the core alone, as a library, changes nothing."""
    assert arrow_allocator("cli", ARROW_DEFAULT_MEMORY_POOL="mimalloc") == "mimalloc"
    assert arrow_allocator("proofsweep") != "system"
