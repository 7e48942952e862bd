"""`proofsweep status` without a run: how all stands, on one screen."""

import json
from pathlib import Path

import pytest

from ..worlds.core import plan, stored_run
from .conftest import Command


@pytest.fixture
def delivery(workdir: Path) -> Path:
    folder = workdir / "delivery"
    folder.mkdir()
    (folder / "a.wav").write_bytes(b"RIFF")
    return folder


def test_an_empty_store_says_how_to_begin(proofsweep: Command, workdir: Path) -> None:
    """No store is made; a program gets empty lists."""
    done, document = proofsweep("status"), proofsweep("status", "--json")

    assert (done.returncode, document.returncode) == (0, 0)
    assert done.stdout.endswith("begin one with: proofsweep verify CATALOG\n")
    found = json.loads(document.stdout)
    assert (found["catalogs"], found["active"], found["quotas"]) == ([], [], [])
    assert list(workdir.iterdir()) == []


def test_each_catalog_has_its_counts(proofsweep: Command, finished_run: str, catalog: Path, delivery: Path) -> None:
    """What was found, what remains, and how the last run ended; then the quota. No key is read."""
    planned = plan(delivery)
    (Path("..") / "key").unlink()

    done, document = proofsweep("status"), json.loads(proofsweep("status", "--json").stdout)

    assert done.returncode == 0
    name, counts, ended, other, _, planned_only, _, quota = done.stdout.splitlines()
    assert (name, other) == (f"{catalog} (sandbox)", f"{delivery} (sandbox)")
    assert counts.startswith("  26 files, 26 covered, ")
    assert ended.startswith(f"  last run: {finished_run}, complete, 20")
    assert planned_only.startswith(f"  last run: {planned}, planned only, 20")
    assert quota.startswith("quota: ")
    assert " calls left at " in quota
    whole, part = document["catalogs"]
    assert (whole["last_run"], part["last_run"]) == (finished_run, planned)
    assert sum(whole[name] for name in ("accepted", "rejected", "failed", "ineligible")) == whole["files"] == 26
    assert (whole["covered"], whole["remaining"], part["remaining"]) == (26, 0, 1)
    assert document["quotas"][0]["left"] > 0


def test_an_active_run_has_its_progress(proofsweep: Command, workdir: Path, delivery: Path) -> None:
    """As `status RUN` shows it; the exit code is 0, since nobody asked for the run."""
    assert workdir.is_dir()
    active = stored_run(plan(delivery))
    active.take()
    active.beat(rows=20, finished_before=0, counts={"accepted": 7}, rate=2.0, quota_left=90)

    done, document = proofsweep("status"), json.loads(proofsweep("status", "--json").stdout)

    assert done.returncode == 0
    assert f"Run {active.plan.run_id} — {delivery}\n  7 of 20 rows · 35 % · 7 accepted\n" in done.stdout
    assert "quota: 90 calls left at " in done.stdout
    (told,) = document["active"]
    assert (told["run_id"], told["catalog"], told["progress"]["counts"]) == (
        active.plan.run_id,
        str(delivery),
        {"accepted": 7},
    )
    assert document["catalogs"][0]["ended_by"] == "active"


def test_a_killed_leg_is_told_with_its_process(proofsweep: Command, delivery: Path) -> None:
    """And how many calls it wrote down; its rows are in the counts above."""
    killed = stored_run(plan(delivery))
    killed.take(is_killed=True)

    told = proofsweep("status", killed.plan.run_id).stdout

    assert "  leg 1: 0 calls, ended by killed; process " in told
    assert " is gone, last sign of life " in told
