"""A core installation, without any extra: what works, and what is said of the rest."""

import subprocess
import sys
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from proofsweep.extras import MODULES

OTHERS = {"botocore", "dask", "distributed", "narwhals", "numpy"}
"""What the extras bring with them: a core installation has none of these."""

HIDING = f"""
import sys
from importlib.machinery import PathFinder

class Hiding(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        is_hidden = name.partition(".")[0] in {sorted({*OTHERS, *sum(MODULES.values(), ())})!r}
        return None if is_hidden else super().find_spec(name, path, target)

sys.meta_path = [Hiding if finder is PathFinder else finder for finder in sys.meta_path]
"""

BEHIND_A_DOOR = {
    "proofsweep.catalog.object_lookup",
    "proofsweep.files.bucket_files",
    "proofsweep.files.open_bucket",
    "proofsweep.store.bucket_store",
    "proofsweep.store.read_only_bucket",
}
"""Imported only after a look whether there is an extra for buckets."""

IMPORT_ALL = """
import importlib, pkgutil
from proofsweep.errors import ConfigError
for package in ("proofsweep", "proofsweep_cli", "proofsweep_flows", "proofsweep_tasks"):
    for module in pkgutil.walk_packages(importlib.import_module(package).__path__, package + "."):
        if not module.name.endswith((".__main__", ".check_evidence")):
            try:
                importlib.import_module(module.name)
            except ConfigError as error:
                assert "proofsweep[report]" in error.message
            except ImportError:
                print(module.name)
"""


def python(program: str, *arguments: str | Path, folder: Path) -> CompletedProcess[str]:
    """Run a program where no extra is installed."""
    command = [sys.executable, "-c", f"{HIDING}\n{program}", *map(str, arguments)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def proofsweep(*arguments: str | Path, folder: Path) -> CompletedProcess[str]:
    """Run a command where no extra is installed."""
    return python("from proofsweep_cli.app import main; main()", *arguments, folder=folder)


@pytest.mark.parametrize(
    ("extra", "arguments"),
    [
        ("aws", ["plan", "s3://music/catalog"]),
        ("gcp", ["plan", "gs://music/catalog.csv"]),
        ("azure", ["status", "--results", "abfss://music@label.dfs.core.windows.net/results"]),
        ("postgresql", ["export", "--to", "postgresql://me@db/music"]),
        ("report", ["report"]),
        ("report", ["report", "--site", "www"]),
        ("report", ["serve"]),
        ("sandbox", ["sandbox"]),
        ("sandbox", ["demo"]),
    ],
)
def test_one_line_says_what_to_install(finished_run: str, workdir: Path, extra: str, arguments: list[str]) -> None:
    """The exit code is that of a wrong request, and nothing is written."""
    before = sorted(workdir.rglob("*"))

    ended = proofsweep(*arguments, folder=workdir)

    assert finished_run
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.count("\n") == 1
    assert f"pip install 'proofsweep[{extra}]'" in ended.stderr
    assert sorted(workdir.rglob("*")) == before


def test_a_runner_that_is_not_installed_is_named(tmp_path: Path) -> None:
    """Before a cluster or a flow is started."""
    program = "from proofsweep_tasks.worker_cluster import started_runner\nwith started_runner('dask', 1, None): pass"

    ended = python(program, folder=tmp_path)

    assert "needs packages that are not installed: pip install 'proofsweep[dask]'" in ended.stderr


def test_a_frame_says_what_it_needs(finished_run: str, workdir: Path) -> None:
    """Arrow and SQL need no extra."""
    program = "from proofsweep import results; store = results.open_results('results'); print(store.latest_run())"

    asked = python(f"{program}\nprint(len(store.sql('FROM rejects').fetchall()))", folder=workdir)
    framed = python(f"{program}\nstore.pandas('verdicts')", folder=workdir)

    assert asked.stdout.split()[0] == finished_run
    assert "pip install 'proofsweep[pandas]'" in framed.stderr.splitlines()[-1]


def test_no_module_imports_an_extra_unasked(tmp_path: Path) -> None:
    """A forgotten import would end a command with a traceback on a core installation."""
    ended = python(IMPORT_ALL, folder=tmp_path)

    assert (ended.returncode, ended.stderr) == (0, "")
    assert {*ended.stdout.split()} == BEHIND_A_DOOR


def test_a_core_installation_answers(finished_run: str, workdir: Path) -> None:
    """What most people ask needs no extra: no command ends with a mistake of the program."""
    asked = [
        ["status"],
        ["rejects"],
        ["explain", "a"],
        ["export", "--file", "all.xlsx"],
        ["query", "SELECT * FROM verdicts"],
        ["audit"],
        ["compact"],
        ["plan", "."],
    ]

    ended = {arguments[0]: proofsweep(*arguments, folder=workdir) for arguments in asked}

    assert finished_run
    assert {name: each.stderr for name, each in ended.items() if each.returncode == 1} == {}
    assert not any("pip install" in each.stderr for each in ended.values())
