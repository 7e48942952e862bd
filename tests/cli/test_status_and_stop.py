"""`proofsweep status` without a run shows how all stands; `stop` says in one line what became of the request."""

import json
import os
import socket
from dataclasses import replace
from pathlib import Path

import pytest

from proofsweep_cli.app import run

from ..worlds.core import StoredRun, plan, results_at, set_chosen, stored_run
from ..worlds.ended_runs import plan_of_run
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
    name, counts, ended, other, _, planned_only, remain, _, quota = done.stdout.splitlines()
    assert (name, other) == (f"{catalog} (sandbox)", f"{delivery} (sandbox)")
    assert counts.startswith("  26 files, 26 covered, ")
    assert ended.startswith(f"  last run: {finished_run}, complete, 20")
    assert planned_only.startswith(f"  last run: {planned}, planned only, 20")
    assert remain == f"  1 of 1 row remains: proofsweep resume {planned}"
    assert quota.startswith("quota: ")
    assert " calls left at " in quota
    whole, part = document["catalogs"]
    assert (whole["last_run"], part["last_run"]) == (finished_run, planned)
    assert sum(whole[name] for name in ("accepted", "rejected", "failed", "ineligible")) == whole["files"] == 26
    assert (whole["covered"], whole["remaining"], part["remaining"]) == (26, 0, 1)
    assert (whole["run_remaining"], part["run_remaining"], part["run_items"]) == (0, 1, 1)
    assert document["quotas"][0]["left"] > 0


def test_an_active_run_has_its_progress(proofsweep: Command, workdir: Path, delivery: Path) -> None:
    """As `status RUN` shows it, which ends with 9 and names the process; without a run the exit code is 0."""
    assert workdir.is_dir()
    active = stored_run(plan(delivery))
    active.take()
    active.beat(rows=20, finished_before=0, counts={"accepted": 7}, rate=2.0, quota_left=90)

    named = proofsweep("status", active.plan.run_id)
    done, document = proofsweep("status"), json.loads(proofsweep("status", "--json").stdout)

    assert (named.returncode, done.returncode) == (9, 0)
    assert f"leg 1: process {os.getpid()} on " in named.stdout
    assert f"stop: proofsweep stop {active.plan.run_id}\n" in named.stdout
    assert f"Run {active.plan.run_id} — {delivery}\n  7 of 20 rows · 35 % · 7 accepted\n" in done.stdout
    assert "quota: 90 calls left at " in done.stdout
    (told,) = document["active"]
    assert (told["run_id"], told["catalog"], told["progress"]["counts"]) == (
        active.plan.run_id,
        str(delivery),
        {"accepted": 7},
    )
    assert document["catalogs"][0]["ended_by"] == "active"


RUN, OTHER = "20261120T091500Z_000aaaa", "20261121T091500Z_000bbbb"


@pytest.fixture
def planned(tmp_path: Path) -> StoredRun:
    run = StoredRun(results_at(tmp_path), plan_of_run(RUN, 5))
    run.write_plan()
    return run


def stop(planned: StoredRun, *arguments: str) -> int:
    return run(["stop", *arguments, "--results", planned.results.store.url])


def requests(planned: StoredRun) -> list[str]:
    """Name the requests that the store holds for the first leg."""
    return [name for name in planned.results.store.names(f"_runs/{RUN}/legs/001") if "stop-" in name]


def test_of_several_active_runs_one_must_be_named(planned: StoredRun, capsys: pytest.CaptureFixture[str]) -> None:
    """The line names them, and where they are worked on; none is stopped."""
    planned.take()
    other = StoredRun(planned.results, replace(planned.plan, run_id=OTHER))
    other.write_plan()
    other.take()

    assert stop(planned) == 2

    out, err = capsys.readouterr()
    where = f"process {os.getpid()} on {socket.gethostname()}"
    assert (out, err.count("\n")) == ("", 1)
    assert f"so name one of them: {OTHER} ({where}); {RUN} ({where})" in err
    assert requests(planned) == []


def test_a_leg_that_has_not_ended_yet_was_asked(
    planned: StoredRun, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It goes on until it sees the request: the exit code says so. Further requests change nothing.

    A program reads one object, as `status --json` gives it, and the request beside it.
    """
    monkeypatch.setattr("proofsweep_cli.status._WAIT_SECONDS", 0.0)
    planned.take()
    planned.beat(finished_before=0, counts={"accepted": 2})

    codes = stop(planned), stop(planned, RUN), stop(planned, RUN, "--json")

    first, second, *document = capsys.readouterr().out.splitlines()
    told = json.loads("".join(document))
    assert codes == (9, 9, 9)
    assert "; it was asked to stop. See: proofsweep status --follow " in first
    assert "; it was asked to stop. See: " in second
    assert len(requests(planned)) == 1
    assert told["stop"] == {"asked": True, "ended": False}
    assert [(leg["host"], leg["pid"]) for leg in told["active"]] == [(socket.gethostname(), os.getpid())]


def test_a_run_that_has_ended_needs_no_stop(planned: StoredRun, capsys: pytest.CaptureFixture[str]) -> None:
    """What remains is said, with the command for it."""
    planned.take()
    planned.write_receipt(1, "window", counts={"remaining": 5})

    assert stop(planned, RUN) == 0

    printed = capsys.readouterr().out
    assert printed.startswith(f"Nothing to stop: no process works on run {RUN} (window). 5 of 5 rows remain: ")
    assert f"proofsweep resume {RUN}" in printed


@pytest.mark.parametrize("facts", [{"catalog_kind": "ingest"}, {}])
def test_a_run_is_given_up_only_by_its_name(
    planned: StoredRun, facts: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    """And never one of a watched folder, whose next pass goes on with it."""
    other = StoredRun(planned.results, replace(planned.plan, run_id=OTHER, **facts))  # type: ignore[arg-type]  # text
    other.write_plan()

    codes = stop(planned, "--for-good"), stop(planned, OTHER, "--for-good")

    assert codes == (2, 2 if facts else 0)
    assert ("superseded" in capsys.readouterr().out) is not bool(facts)


def test_a_run_whose_machine_is_gone_is_given_up(
    planned: StoredRun, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its process ID means nothing here, and it shows no sign of life; it was asked all the same."""
    set_chosen(monkeypatch, stale_seconds=0, silent_seconds=0)
    planned.take(machine="another")

    code = stop(planned, RUN, "--for-good")

    assert (code, capsys.readouterr().out.count("superseded")) == (0, 1)
    assert len(requests(planned)) == 1


def test_a_resume_without_a_run_is_of_its_own_environment(
    planned: StoredRun, workdir: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A night of another environment that was refused is not this one's; of a list of a run it is said what remains."""
    assert workdir.is_dir()
    results = planned.results.store.url
    monkeypatch.setenv("PROOFSWEEP_SERVICE__ENVIRONMENT", "production")

    codes = run(["resume", "--results", results]), run(["rejects", RUN, "--results", results])

    out, err = capsys.readouterr()
    assert codes == (2, 0)
    assert f"There is no run of the environment production in {results};" in err
    assert "5 of 5 rows remain (planned only): nothing is known of them yet: " in out


def test_a_killed_leg_is_named(planned: StoredRun, capsys: pytest.CaptureFixture[str]) -> None:
    """Its process is gone, and `resume` goes on; `status` also says how many calls it wrote down."""
    planned.take(is_killed=True)

    run(["status", RUN, "--results", planned.results.store.url])
    told = capsys.readouterr().out
    assert stop(planned, RUN) == 0

    printed = capsys.readouterr().out
    assert "  leg 1: 0 calls, ended by killed; process " in told
    assert " is gone, last sign of life " in told
    assert f"Nothing to stop: process {os.getpid()} on {socket.gethostname()} is gone, last sign" in printed
    assert f"proofsweep resume {RUN}" in printed
    assert requests(planned) == []
