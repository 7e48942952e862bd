"""`proofsweep audit` and `proofsweep prune`, as a person and as a program run them."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from ..worlds.audited_store import NEWEST, audited_store
from ..worlds.core import results_at
from ..worlds.year_old_store import PARTLY, SUPERSEDED, year_old_store
from .conftest import Command


@pytest.fixture
def store(workdir: Path) -> Path:
    """Fill `results`; give its folder."""
    audited_store(results_at(workdir / "results"))
    return workdir / "results"


def test_an_untouched_store_passes_and_its_head_is_shown(proofsweep: Command, store: Path) -> None:
    """It says what was recorded, never that the service signed anything.

    Each summary carries the head, so whoever keeps one, on paper or in Prefect, can prove later what was recorded.
    """
    run_id = max(each.name for each in (store / "_runs").iterdir())

    done = proofsweep("audit")
    said = json.loads(proofsweep("audit", "--json").stdout)

    assert (done.returncode, done.stderr) == (0, "")
    assert "3 runs, 4 legs, 8 parts, 13 rows of verdicts" in done.stdout
    assert "This is what was recorded: nothing contradicts it." in done.stdout
    assert f"head {said['head']}" in done.stdout
    assert (said["ok"], said["wrong"], said["rows"], said["parts_pruned"]) == (True, [], 13, 2)
    assert proofsweep("audit", "--head", said["head"]).returncode == 0
    assert json.loads(proofsweep("status", run_id, "--json").stdout)["head"] == said["head"]
    assert said["head"] in proofsweep("status", run_id).stdout


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


OLD = ("prune", "--older-than", "400d")


@pytest.fixture
def parts(workdir: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """Fill `results`; give what counts the parts of `verdicts`."""
    monkeypatch.setenv("PROOFSWEEP_SERVICE__ENVIRONMENT", "beta")
    year_old_store(results_at(workdir / "results"))
    return lambda: len(list((workdir / "results" / "verdicts").rglob("*.parquet")))


def test_nothing_is_deleted_without_a_yes(proofsweep: Command, parts: Callable[[], int], workdir: Path) -> None:
    """A second time nothing is left to do; `status` says what happened.

    `rejects` and `export` refuse a pruned run: that nothing needs attention would not be known, and the file would
    pass for the whole run.
    """
    before = parts()
    written = {path: path.stat().st_mtime_ns for path in workdir.rglob("*")}
    assert "Would delete: " in proofsweep(*OLD).stdout
    assert {path: path.stat().st_mtime_ns for path in workdir.rglob("*")} == written
    rejects = ("rejects", SUPERSEDED.run_id)
    assert proofsweep(*rejects).returncode == 0
    told = json.loads(proofsweep(*OLD, "--json").stdout)
    assert (parts(), told["pruned"]) == (before, [])

    done = json.loads(proofsweep(*OLD, "--yes", "--json").stdout)
    again = proofsweep(*OLD, "--yes")

    assert done["found"] == told["found"]
    assert done["pruned"] == [PARTLY.run_id, SUPERSEDED.run_id]
    assert "There is nothing to delete." in again.stdout
    status = proofsweep("status", SUPERSEDED.run_id)
    log = [json.loads(path.read_bytes()) for path in (workdir / "results").glob("_log/*/*.json")]
    assert status.returncode == 0
    assert "the counts are by the receipts" in status.stdout
    assert [entry["run_id"] for entry in log if entry["kind"] == "pruned"].count(SUPERSEDED.run_id) == 1
    assert json.loads(proofsweep("status", SUPERSEDED.run_id, "--json").stdout)["pruned_at"].startswith("20")
    assert proofsweep("resume", SUPERSEDED.run_id).returncode == 0
    for command in (rejects, ("export", SUPERSEDED.run_id, "--file", str(workdir / "night.csv"))):
        refused = proofsweep(*command)
        assert (refused.returncode, refused.stdout, refused.stderr.count("\n")) == (2, "", 1)
        assert f"Run {SUPERSEDED.run_id} was pruned on 20" in refused.stderr


def test_another_environment_of_the_store_is_not_pruned(
    proofsweep: Command, parts: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Production's answers are not the business of a config of pre-production."""
    before = parts()
    monkeypatch.setenv("PROOFSWEEP_SERVICE__ENVIRONMENT", "production")

    refused = proofsweep(*OLD, "--yes")

    assert (refused.returncode, parts()) == (2, before)
    assert "There is no run of production in " in refused.stderr
    assert "which holds the environments beta" in refused.stderr


def test_a_damaged_base_is_named(proofsweep: Command, parts: Callable[[], int], workdir: Path) -> None:
    before = parts()
    max((workdir / "results" / "_latest").glob("*[0-9a-f].json")).write_bytes(b"")
    done = proofsweep(*OLD, "--yes")

    assert (done.returncode, parts()) == (2, before)
    assert "It is derived: delete _latest" in done.stderr
