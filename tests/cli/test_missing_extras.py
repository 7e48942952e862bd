"""A core installation, without any extra: what is said of what needs one."""

import json
import subprocess
import sys
from pathlib import Path
from subprocess import CompletedProcess

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

ASK = """
import json, os
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from proofsweep_cli.app import run
from proofsweep_tasks.worker_cluster import started_cluster

def cluster():
    with started_cluster(None, 1):
        return 0

def asked(act):
    out, err = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            code = act()
        except Exception as error:
            code, _ = 2, print(error, file=err)
    return code, out.getvalue(), err.getvalue()

said = {line: asked(lambda: run(line.split())) for line in sys.argv[1:]}
said["a cluster"] = asked(cluster)
os.environ["AWS_PROFILE"] = "label"
said["a profile"] = asked(lambda: run(["plan", "s3://music/catalog"]))
print(json.dumps(said))
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


def python(program: str, *arguments: str, folder: Path) -> CompletedProcess[str]:
    """Run a program where no extra is installed."""
    command = [sys.executable, "-c", f"{HIDING}\n{program}", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_one_line_says_what_to_install(workdir: Path) -> None:
    """The exit code is that of a wrong request, and nothing starts.

    Where a profile of AWS is asked for, other credentials are not tried in its place.
    """
    ended = python(ASK, "sandbox", "demo", folder=workdir)

    said = json.loads(ended.stdout)
    needs = {"sandbox": "sandbox", "demo": "sandbox", "a cluster": "dask", "a profile": "aws"}
    assert [said[name][:2] for name in needs] == [[2, ""]] * len(needs)
    assert [said[name][2].count("\n") for name in needs] == [1] * len(needs)
    for name, extra in needs.items():
        assert f"pip install 'proofsweep[{extra}]'" in said[name][2]
    assert "AWS_PROFILE needs packages that are not installed" in said["a profile"][2]
    assert not (workdir / "demo").exists()


def test_no_module_imports_an_extra_unasked(tmp_path: Path) -> None:
    """A forgotten import would end a command with a traceback on a core installation."""
    ended = python(IMPORT_ALL, folder=tmp_path)

    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
