"""`proofsweep prune`: it says what would go, and with --yes what went."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from ..worlds.core import results_at
from ..worlds.year_old_store import PARTLY, SUPERSEDED, year_old_store
from .conftest import Command

OLD = ("prune", "--older-than", "400d")


@pytest.fixture
def parts(workdir: Path) -> Callable[[], int]:
    """Fill `results`; give what counts the parts of `verdicts`."""
    year_old_store(results_at(workdir / "results"))
    return lambda: len(list((workdir / "results" / "verdicts").rglob("*.parquet")))


def test_nothing_is_deleted_without_a_yes(proofsweep: Command, parts: Callable[[], int], workdir: Path) -> None:
    """A second time nothing is left to do; `status` says what happened."""
    before = parts()
    told = json.loads(proofsweep(*OLD, "--json").stdout)
    assert (parts(), told["pruned"]) == (before, [])
    assert "Would delete: " in proofsweep(*OLD).stdout

    done = json.loads(proofsweep(*OLD, "--yes", "--json").stdout)
    again = proofsweep(*OLD, "--yes")

    assert done["found"] == told["found"]
    assert done["pruned"] == [PARTLY.run_id, SUPERSEDED.run_id]
    assert "There is nothing to delete." in again.stdout
    status = proofsweep("status", SUPERSEDED.run_id)
    intent = f"_pruned/{SUPERSEDED.run_id}-001.json"
    assert status.returncode == 0
    assert "the counts are by the receipts" in status.stdout
    assert (workdir / "results" / intent).exists()
    assert json.loads(proofsweep("status", SUPERSEDED.run_id, "--json").stdout)["pruned_at"].startswith("20")
    assert proofsweep("resume", SUPERSEDED.run_id).returncode == 0


def test_a_damaged_base_is_named(proofsweep: Command, parts: Callable[[], int], workdir: Path) -> None:
    before = parts()
    max((workdir / "results" / "_latest").glob("*[0-9a-f].json")).write_bytes(b"")
    done = proofsweep(*OLD, "--yes")

    assert (done.returncode, parts()) == (2, before)
    assert "It is derived: delete _latest" in done.stderr


def test_rejects_and_an_export_of_a_pruned_run_are_refused(
    proofsweep: Command, parts: Callable[[], int], tmp_path: Path
) -> None:
    """That nothing needs attention would not be known, and the file would pass for the whole run."""
    assert parts()
    run = SUPERSEDED.run_id
    before = proofsweep("rejects", run)
    proofsweep(*OLD, "--yes")

    assert before.returncode == 0
    for command in (("rejects", run), ("export", run, "--file", str(tmp_path / "night.csv"))):
        refused = proofsweep(*command)
        assert (refused.returncode, refused.stdout, refused.stderr.count("\n")) == (2, "", 1)
        assert f"Run {run} was pruned on 20" in refused.stderr
