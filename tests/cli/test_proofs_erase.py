"""Proofs are erased over a real socket, after a confirmation that fits."""

import json
from pathlib import Path
from threading import Thread

import pytest

import proofsweep_sandbox as sandbox

from ..worlds.command_world import fill, mounted_disk, rows_in
from ..worlds.waiting import wait_for
from .conftest import Command


@pytest.fixture
def issued(running: sandbox.Running, catalog: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Three proofs of a tenant whose key is in the settings."""
    key, bare = running.operator.add_tenant(f"proofs of {tmp_path.name}"), next(catalog.rglob("*.wav"))
    (tmp_path / "own-key").write_text(key.api_key)
    monkeypatch.setenv("PROOFSWEEP_SERVICE__API_KEY_FILE", str(tmp_path / "own-key"))
    places = [tmp_path / f"{number}.wav" for number in range(3)]
    return [running.operator.issue(bare, place, tenant=key.tenant).proof_id for place in places]


def test_a_list_is_erased_once_and_a_repeat_asks_for_nothing(
    proofsweep: Command, workdir: Path, tmp_path: Path, issued: list[str]
) -> None:
    """A proof that is named twice is one; each answer is a row with its request ID."""
    (tmp_path / "list.csv").write_text("song,proof_id\n" + "".join(f"x,{each}\n" for each in [*issued, issued[0]]))
    erase = ("proofs", "erase", "--from", tmp_path / "list.csv", "--yes-erase", "3")

    first, second = proofsweep(*erase), proofsweep(*erase, "--json")

    rows = rows_in(workdir / "results", "erasures")
    assert (first.returncode, second.returncode) == (0, 0)
    assert "3 erased, 0 already erased" in first.stdout
    assert json.loads(second.stdout)["known"] == 3
    assert sorted(str(row["proof_id"]) for row in rows) == sorted(issued)
    assert all(row["request_id"] and row["erased_at"] for row in rows)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--yes-erase", "2"), "confirm it with --yes-erase 3"),
        (("--yes-erase", "3", "--environment", "production"), "The proofs are of sandbox"),
    ],
)
def test_a_confirmation_that_does_not_fit_erases_nothing(
    proofsweep: Command, workdir: Path, issued: list[str], more: tuple[str, ...], said: str
) -> None:
    """Exit code 2, before any call."""
    done = proofsweep("proofs", "erase", *issued, *more)

    assert done.returncode == 2
    assert said in done.stderr
    assert list(workdir.iterdir()) == []


def test_production_must_be_named(
    proofsweep: Command, workdir: Path, issued: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The exact count alone is not enough where proofs are not disposable."""
    monkeypatch.setenv("PROOFSWEEP_SERVICE__ENVIRONMENT", "production")

    refused = proofsweep("proofs", "erase", issued[0], "--yes-erase", "1")
    done = proofsweep("proofs", "erase", issued[0], "--yes-erase", "1", "--environment", "production")

    assert (refused.returncode, done.returncode) == (2, 0)
    assert "--environment production" in refused.stderr
    assert [row["outcome"] for row in rows_in(workdir / "results", "erasures")] == ["erased"]


def test_a_dry_run_names_the_files_that_are_known_and_asks_nothing(
    proofsweep: Command, running: sandbox.Running, finished_run: str, workdir: Path
) -> None:
    """By the answers of earlier runs."""
    verdicts = rows_in(workdir / "results")
    known = next(row for row in verdicts if row["proof_id"] and row["verdict"] == "valid")
    before = len(running.operator.exchanges())

    done = proofsweep("proofs", "erase", known["proof_id"], "p-elsewhere", "--dry-run")

    assert done.returncode == 0
    assert f"{known['proof_id']}  {known['relative_path']}" in done.stdout
    assert "p-elsewhere  no file of this results store" in done.stdout
    assert "Would erase 2 proofs of sandbox" in done.stdout
    assert len(running.operator.exchanges()) == before
    del finished_run


def test_a_proof_that_fails_is_exit_4(proofsweep: Command, running: sandbox.Running, issued: list[str]) -> None:
    """The others are erased."""
    running.operator.add_fault("erase", "status", status=404, count=1)

    done = proofsweep("proofs", "erase", *issued, "--yes-erase", "3")

    assert done.returncode == 4
    assert f"failed: {issued[0]} · http_404" in done.stdout
    assert "2 erased" in done.stdout


def test_a_disk_that_fills_is_exit_8_with_the_report(
    proofsweep: Command,
    running: sandbox.Running,
    issued: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of what was erased every answer is written or shown; the same command goes on when there is room."""
    monkeypatch.setenv("PROOFSWEEP_RETRY__BREAKER_SECONDS", "1")
    erase = ("proofs", "erase", *issued, "--yes-erase", "3", "--results", tmp_path / "disk")
    running.operator.add_fault("erase", "slow", seconds=1.5)
    with mounted_disk(tmp_path / "disk") as disk:

        def fill_after_the_first() -> None:
            wait_for(lambda: any(disk.rglob("erasures-*.arrow")))
            fill(disk / "filler")

        filling = Thread(target=fill_after_the_first)
        filling.start()
        try:
            stopped = proofsweep(*erase)
        finally:
            running.operator.clear_faults()
            filling.join()
        (disk / "filler").unlink()
        done = proofsweep(*erase)
        rows = rows_in(disk, "erasures")

    assert (stopped.returncode, done.returncode) == (8, 0)
    assert stopped.stdout.startswith("2 erased, 0 already erased or never there, 0 failed, 0 known to be gone, 1 not")
    assert f"Keep this answer, which the table `erasures` may lack: {issued[1]} · erased at " in stopped.stdout
    assert "No space left on device" in stopped.stderr
    assert {row["proof_id"] for row in rows} == {*issued}
