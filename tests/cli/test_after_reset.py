"""A run that resumes right after the quota's reset lets others begin too."""

import signal
import time
from datetime import UTC, datetime, timedelta
from threading import Timer, get_ident

import pytest

from cli.screen import console
from cli.verify_commands import wait_after_reset
from proofsweep.bootstrap.runs import plan_catalog, results_for
from proofsweep.reporting.describe_run import describe_run
from proofsweep.reporting.run_status import RunStatus
from proofsweep.settings import load_settings
from proofsweep.storage.results.legs import Legs

NOW = datetime(2026, 12, 1, 0, 0, 10, tzinfo=UTC)


def run_that_ended(catalog: object, ended_by: str) -> RunStatus:
    """Plan a run, and let its only leg end ten seconds before the month did; the receipt says so."""
    settings = load_settings()
    run_id = plan_catalog(settings, str(catalog)).run_id
    legs = Legs(results_for(settings), run_id, lambda: NOW)
    legs.claim(1)
    legs.write_receipt(1, {"ended_by": ended_by, "quota_reset": NOW - timedelta(seconds=10)})
    return describe_run(results_for(settings), run_id)


@pytest.mark.usefixtures("world")
def test_the_wait_is_told_and_short(catalog: object, capsys: pytest.CaptureFixture[str]) -> None:
    """Only a run that the quota ended waits."""
    wait_after_reset(console(), run_that_ended(catalog, "quota"), NOW, 0.02)
    told = capsys.readouterr().out
    wait_after_reset(console(), run_that_ended(catalog, "window"), NOW, 0.02)

    assert told == "The quota has just begun anew: waits 0.1 s, as others may too; Ctrl-C begins now.\n"
    assert capsys.readouterr().out == ""


@pytest.mark.usefixtures("world")
def test_ctrl_c_begins_at_once(catalog: object) -> None:
    """It ends the wait and not the command."""
    before = run_that_ended(catalog, "quota")
    began = time.monotonic()
    Timer(0.5, signal.pthread_kill, [get_ident(), signal.SIGINT]).start()

    wait_after_reset(console(), before, NOW, 1.0)

    assert time.monotonic() - began < 5.0
