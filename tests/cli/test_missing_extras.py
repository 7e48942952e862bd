"""A core installation, without any extra: what works, and what is said of the rest."""

import subprocess
import sys
from pathlib import Path
from subprocess import CompletedProcess

import pytest

EXTRAS = {"boto3", "botocore", "c2pa", "dask", "distributed", "prefect_dask"}
"""What the extras bring with them: a core installation has none of these."""

HIDING = f"""
import sys
from importlib.machinery import PathFinder

class Hiding(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        is_hidden = name.partition(".")[0] in {sorted(EXTRAS)!r}
        return None if is_hidden else super().find_spec(name, path, target)

sys.meta_path = [Hiding if finder is PathFinder else finder for finder in sys.meta_path]
"""

IMPORT_ALL = """
import importlib, pkgutil
for package in ("proofsweep", "proofsweep_cli", "proofsweep_flows", "proofsweep_tasks"):
    for module in pkgutil.walk_packages(importlib.import_module(package).__path__, package + "."):
        if not module.name.endswith(".__main__"):
            try:
                importlib.import_module(module.name)
            except ImportError:
                print(module.name)
"""


def python(program: str, *arguments: str | Path, folder: Path) -> CompletedProcess[str]:
    """Run a program where no extra is installed."""
    command = [sys.executable, "-c", f"{HIDING}\n{program}", *map(str, arguments)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def proofsweep(*arguments: str | Path, folder: Path) -> CompletedProcess[str]:
    return python("from proofsweep_cli.app import main; main()", *arguments, folder=folder)


@pytest.mark.parametrize(
    ("extra", "arguments"),
    [
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


def test_a_cluster_that_is_not_installed_is_named(tmp_path: Path) -> None:
    """Before a cluster or a flow is started."""
    program = "from proofsweep_tasks.worker_cluster import started_cluster\nwith started_cluster(None, 1): pass"

    ended = python(program, folder=tmp_path)

    assert "needs packages that are not installed: pip install 'proofsweep[dask]'" in ended.stderr


def test_a_profile_of_aws_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other credentials are not tried in its place."""
    monkeypatch.setenv("AWS_PROFILE", "label")

    ended = proofsweep("plan", "s3://music/catalog", folder=tmp_path)

    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.count("\n") == 1
    assert "AWS_PROFILE needs packages that are not installed: pip install 'proofsweep[aws]'" in ended.stderr


def test_no_module_imports_an_extra_unasked(tmp_path: Path) -> None:
    """A forgotten import would end a command with a traceback on a core installation."""
    ended = python(IMPORT_ALL, folder=tmp_path)

    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")


def test_a_core_installation_answers(finished_run: str, workdir: Path) -> None:
    """What most people ask needs no extra: no command ends with a mistake of the program."""
    asked = [
        ["status"],
        ["rejects"],
        ["explain", "a"],
        ["export", "--file", "all.xlsx"],
        ["query", "SELECT * FROM verdicts"],
        ["audit"],
        ["report"],
        ["plan", "."],
    ]

    ended = {arguments[0]: proofsweep(*arguments, folder=workdir) for arguments in asked}

    assert finished_run
    assert {name: each.stderr for name, each in ended.items() if each.returncode == 1} == {}
    assert not any("pip install" in each.stderr for each in ended.values())
