"""`proofsweep audit`, as a person and as a program run it."""

import json
import shutil
from pathlib import Path

import pytest

from ..worlds.audited_store import NEWEST, audited_store
from ..worlds.core import results_at
from .conftest import Command


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A results store, made once; nobody changes it."""
    folder = tmp_path_factory.mktemp("built")
    audited_store(results_at(folder))
    return folder


@pytest.fixture
def store(built: Path, workdir: Path) -> Path:
    """Fill `results` with a copy; give its folder."""
    return Path(shutil.copytree(built, workdir / "results"))


@pytest.mark.usefixtures("store")
def test_an_untouched_store_passes_and_its_head_is_shown(proofsweep: Command) -> None:
    """It says what was recorded, never that the service signed anything."""
    done = proofsweep("audit")
    said = json.loads(proofsweep("audit", "--json").stdout)

    assert (done.returncode, done.stderr) == (0, "")
    assert "3 runs, 4 legs, 8 parts, 13 rows of verdicts" in done.stdout
    assert "This is what was recorded: nothing contradicts it." in done.stdout
    assert f"head {said['head']}" in done.stdout
    assert (said["ok"], said["wrong"], said["rows"], said["parts_pruned"]) == (True, [], 13, 2)
    assert proofsweep("audit", "--head", said["head"]).returncode == 0


def test_each_summary_carries_the_head(proofsweep: Command, store: Path) -> None:
    """So that whoever keeps one, on paper or in Prefect, can prove later what was recorded."""
    run_id = max(each.name for each in (store / "_runs").iterdir())
    head = json.loads(proofsweep("audit", "--json").stdout)["head"]

    assert json.loads(proofsweep("status", run_id, "--json").stdout)["head"] == head
    assert head in proofsweep("status", run_id).stdout


def test_what_is_wrong_is_named_with_exit_code_3(proofsweep: Command, store: Path) -> None:
    """On the screen and as JSON."""
    (part,) = store.glob(f"verdicts/*/{NEWEST}-*")
    part.write_bytes(b"PAR1")

    done, said = proofsweep("audit", NEWEST), json.loads(proofsweep("audit", NEWEST, "--json").stdout)

    name = str(part.relative_to(store))
    assert done.returncode == 3
    assert f"wrong: {name} was changed: no receipt names the sha256 that it has" in done.stdout
    assert "nothing contradicts it" not in done.stdout
    assert (said["ok"], said["wrong"][0]["where"]) == (False, name)
