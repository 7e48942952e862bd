"""A run that resumes right after the quota's reset waits for a short time, since other runs begin too."""

import signal
import time
from datetime import UTC, datetime, timedelta
from threading import Timer, get_ident

import pytest

from proofsweep.queries.status import RunStatus, describe_run
from proofsweep.store.legs import Legs
from proofsweep.store.parts import Results
from proofsweep_cli.screen import console
from proofsweep_cli.verify import wait_after_reset

from ...worlds.ended_runs import plan_of_run

NOW = datetime(2026, 12, 1, 0, 0, 10, tzinfo=UTC)


def run_that_ended(results: Results, ended_by: str) -> RunStatus:
    """Leave a run behind, with the receipt of its only leg; the quota's reset was ten seconds ago."""
    plan = plan_of_run(f"20261130T230000Z_{ended_by}", 5)
    results.write_plan(plan)
    legs = Legs(results, plan.run_id, lambda: NOW)
    legs.claim(1)
    legs.write_receipt(1, {"ended_by": ended_by, "quota_reset": NOW - timedelta(seconds=10)})
    return describe_run(results, plan.run_id)


def test_only_a_run_that_the_quota_ended_waits(results: Results, capsys: pytest.CaptureFixture[str]) -> None:
    """The wait is printed, and short."""
    wait_after_reset(console(), run_that_ended(results, "quota"), NOW, 0.02)
    printed = capsys.readouterr().out
    wait_after_reset(console(), run_that_ended(results, "window"), NOW, 0.02)

    assert printed == "The quota was reset just now. Other runs may begin too: waiting 0.1 s; Ctrl-C begins now.\n"
    assert capsys.readouterr().out == ""


def test_ctrl_c_ends_the_wait(results: Results) -> None:
    """The command goes on at once."""
    before = run_that_ended(results, "quota")
    began = time.monotonic()
    Timer(0.5, signal.pthread_kill, [get_ident(), signal.SIGINT]).start()

    wait_after_reset(console(), before, NOW, 1.0)

    assert time.monotonic() - began < 5.0
