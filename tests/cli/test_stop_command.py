"""`proofsweep stop` says in one line what became of the request, and a script can tell by the exit code."""

import json
import os
import socket
from dataclasses import replace
from pathlib import Path

import pytest

from proofsweep_cli.app import run

from ..worlds.core import StoredRun, results_at
from ..worlds.ended_runs import plan_of_run

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


def test_a_killed_leg_is_named(planned: StoredRun, capsys: pytest.CaptureFixture[str]) -> None:
    """Its process is gone, and `resume` goes on."""
    planned.take(is_killed=True)

    assert stop(planned, RUN) == 0

    printed = capsys.readouterr().out
    assert f"Nothing to stop: process {os.getpid()} on {socket.gethostname()} is gone, last sign" in printed
    assert f"proofsweep resume {RUN}" in printed
    assert requests(planned) == []
