"""The memory of a long run is given back to the system."""

import os
import platform
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


@pytest.mark.parametrize("package", ["proofsweep_cli", "proofsweep_flows", "proofsweep_tasks"])
def test_each_process_of_a_run_has_the_small_allocator(package: str) -> None:
    """The command, a flow that a Prefect worker starts, and a task that Dask starts choose before Arrow is there."""
    assert arrow_allocator(package) == "system"


def test_free_pages_go_back_to_the_system() -> None:
    """What lies free below a piece that is in use is given back; glibc by itself gives back only what lies above."""
    program = (
        "from pathlib import Path; from proofsweep.allocators import give_memory_back as give\n"
        "pages = lambda: int(Path('/proc/self/statm').read_text().split()[1])\n"
        "pieces = [b'x' * size for size in range(60_000, 60_500)]; last = b'x' * 60_000; del pieces\n"
        "before = pages(); give(); print((before - pages()) * 4096 > 20_000_000)"
    )

    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert ended.stdout.strip() == str(platform.libc_ver()[0] == "glibc")


def test_choice_of_a_person_stays() -> None:
    """Who sets Arrow's variable gets what it says; the core alone, as a library, changes nothing."""
    assert arrow_allocator("proofsweep_cli", ARROW_DEFAULT_MEMORY_POOL="mimalloc") == "mimalloc"
    assert arrow_allocator("proofsweep") != "system"
