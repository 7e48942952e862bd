"""The exit code of an ending is that of its entry, and help and docs are printed from the codes."""

import runpy
import signal
import time
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from pathlib import Path
from threading import Timer, get_ident

import pytest
import typer

from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import RunMustStop
from proofsweep.domain.exchanges import Call
from proofsweep.queries.status import RunStatus, describe_run
from proofsweep.store.legs import Legs
from proofsweep.store.parts import Results
from proofsweep.store.schemas import SCHEMAS
from proofsweep_cli.app import whole_app
from proofsweep_cli.exit_codes import ExitCode, code_of_error, epilog, exit_codes_table
from proofsweep_cli.screen import console
from proofsweep_cli.verify import wait_after_reset

from ...worlds.ended_runs import plan_of_run

PAGE = Path(__file__).parents[3] / "docs" / "command-line.md"
RENDER = runpy.run_path(str(PAGE.with_name("render.py")))
NOW = datetime(2026, 12, 1, 0, 0, 10, tzinfo=UTC)


@pytest.mark.parametrize("ended_by", EndedBy)
def test_a_command_that_must_stop_ends_with_the_code_of_its_ending(ended_by: EndedBy) -> None:
    """Whatever ends a leg has a documented code."""
    assert code_of_error(RunMustStop("It must stop.", ended_by=ended_by)) == ExitCode(ended_by.ending.exit_code)


@pytest.mark.parametrize("code", ExitCode)
def test_every_code_stands_in_the_help_and_in_the_docs(code: ExitCode) -> None:
    """A code without a meaning cannot be declared."""
    assert f"{code.value} {code.brief}" in epilog()
    assert f"| {code.value} | {code.meaning} |\n" in exit_codes_table()
    assert f"| {code.value} | {code.meaning} |\n" in PAGE.read_text("utf-8")


def test_the_table_names_only_what_exists() -> None:
    """Commands, flows and tables."""
    root = typer.main.get_command(whole_app())
    for commands, flow, tables in RENDER["USES"].values():
        for command in commands:
            found = root
            for word in command.split():
                found = getattr(found, "commands", {})[word]
        assert flow is None or find_spec(f"proofsweep_flows.{flow}") is not None
        assert set(tables) <= set(SCHEMAS)


def run_that_ended(results: Results, ended_by: str) -> RunStatus:
    plan = plan_of_run(f"20261130T230000Z_{ended_by}", 5)
    results.write_plan(plan)
    legs = Legs(results.store, plan.run_id, lambda: NOW)
    legs.take(1)
    legs.write_receipt(1, {"ended_by": ended_by, "quota_reset": NOW - timedelta(seconds=10)})
    return describe_run(results, plan.run_id)


def test_only_a_run_that_the_quota_ended_waits(results: Results, capsys: pytest.CaptureFixture[str]) -> None:
    """The wait is printed, and short."""
    wait_after_reset(console(), run_that_ended(results, "quota"), NOW, 0.02)
    printed = capsys.readouterr().out
    wait_after_reset(console(), run_that_ended(results, "window"), NOW, 0.02)

    assert printed == "The quota was reset just now. Other runs may begin too: waiting 0.1 s; Ctrl-C begins now.\n"
    assert capsys.readouterr().out == ""


def test_every_endpoint_has_its_row() -> None:
    """Eleven, in the contract's order; the slot and the download are no endpoints."""
    assert set(RENDER["USES"]) == {*Call} - {Call.SLOT, Call.DOWNLOAD}
    assert RENDER["endpoints_table"]().count("\n") == 13


def test_ctrl_c_ends_the_wait(results: Results) -> None:
    """The command goes on at once."""
    before = run_that_ended(results, "quota")
    began = time.monotonic()
    Timer(0.5, signal.pthread_kill, [get_ident(), signal.SIGINT]).start()

    wait_after_reset(console(), before, NOW, 1.0)

    assert time.monotonic() - began < 5.0
