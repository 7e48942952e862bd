"""The exit code of an ending is that of its entry, and help and docs are printed from the codes."""

import runpy
from importlib.util import find_spec
from pathlib import Path

import pytest
import typer

from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import RunMustStop
from proofsweep.domain.exchanges import Call
from proofsweep.store.schemas import SCHEMAS
from proofsweep_cli.app import whole_app
from proofsweep_cli.exit_codes import ExitCode, code_of_error, epilog, exit_codes_table

PAGE = Path(__file__).parents[3] / "docs" / "command-line.md"
RENDER = runpy.run_path(str(PAGE.with_name("render.py")))


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


def test_every_endpoint_has_its_row() -> None:
    """Eleven, in the contract's order; the slot and the download are no endpoints."""
    assert set(RENDER["USES"]) == {*Call} - {Call.SLOT, Call.DOWNLOAD}
    assert RENDER["endpoints_table"]().count("\n") == 13
