"""`explain` tells the story of one file, and writes what the partner's support needs."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from proofsweep_cli.app import run

from ..worlds.core import StoredRun, leave_operation, results_at
from ..worlds.ended_runs import answered, end_leg, exchange, plan_of_run

PLAN = plan_of_run("20261120T020000Z_000aa", items=1)
SECRET_NAME = "unreleased \x1b[31m\nsong.wav"


@pytest.fixture
def store(tmp_path: Path) -> str:
    """A store with one rejected file, whose name others chose, and one failed call."""
    results = results_at(tmp_path)
    row = answered(PLAN, 0, "a", "rejected", audio=f"/m/{SECRET_NAME}", verdict="tampered", reason="tampered")
    end_leg(results, PLAN, [row])
    calls = [exchange(PLAN, 0, "uploads", 1, status=500, request_id="r-1"), exchange(PLAN, 0, request_id="r-2")]
    StoredRun(results, PLAN).write_part("exchanges", calls)
    return str(tmp_path)


def test_a_request_id_leads_to_the_file(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What the service and a supplier wrote stays text on its line; JSON has the rows as the tables have them."""
    assert run(["explain", "r-2", "--results", store]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert run(["explain", "a", "--json", "--results", store]) == 0
    found = json.loads(capsys.readouterr().out)

    assert lines[0] == "/m/unreleased \\x1b[31m\\nsong.wav"
    assert lines[2].startswith("  newest: rejected · tampered")
    assert "POST /uploads: 500. 1 call, 2026-11-20 02:00:01; beta" in lines
    assert found["runs"][0]["verdict_row"]["audio"] == f"/m/{SECRET_NAME}"
    assert "r-1" in found["support_packet"]


def test_the_packet_alone_can_be_pasted(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    """It names no file. A run's packet has the calls that did not succeed."""
    assert run(["explain", "a", "--packet", "--results", store]) == 0
    of_file = capsys.readouterr().out
    assert run(["explain", PLAN.run_id, "--results", store]) == 0
    of_run = capsys.readouterr().out

    assert of_file.startswith("Calls to look up.")
    assert "song" not in of_file + of_run
    assert ("r-1" in of_file, "r-2" in of_file) == (True, True)
    assert ("r-1" in of_run, "r-2" in of_run) == (True, False)


def test_several_files_that_fit_are_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each with the command that explains it; what others wrote stays on its line."""
    results, plan = results_at(tmp_path), replace(PLAN, items=2)
    tags = json.dumps({"title": "D\u00e9j\u00e0 \x1b[31m", "isrc": "QZNUL2600017"})
    rows = [
        answered(plan, row, item, audio=f"/m/{item}/\x1bx.wav", tags=tags) for row, item in enumerate(("it's", "b"))
    ]
    end_leg(results, plan, rows)

    capsys.readouterr()
    assert run(["explain", "qznul2600017", "--results", str(tmp_path)]) == 2
    said = capsys.readouterr()
    assert run(["explain", "QZNUL2600017", "--results", str(tmp_path), "--json"]) == 2
    found = json.loads(capsys.readouterr().out)
    assert run(["explain", "m/b/", "--results", str(tmp_path)]) == 0

    assert said.out.splitlines() == [
        "accepted  /m/b/\\x1bx.wav",
        f"  proofsweep explain b --results {tmp_path}",
        "accepted  /m/it's/\\x1bx.wav",
        f"""  proofsweep explain "it's" --results {tmp_path}""",
    ]
    assert said.err == "proofsweep: 2 files fit 'qznul2600017'. Explain one by its item_id.\n"
    assert [row["item_id"] for row in found["items"]] == ["b", "it's"]


def test_an_operation_has_a_packet_too(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Here nothing went wrong."""
    leave_operation(results_at(store), "20261122T020000Z_000cc", "inventory", "beta", [])

    assert run(["explain", "20261122T020000Z_000_inventory_cc", "--results", store]) == 0
    assert "every call of" in capsys.readouterr().out.lower()
