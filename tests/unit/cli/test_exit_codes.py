"""The exit code of an ending is that of its entry, and help and docs are printed from the codes."""

from pathlib import Path

import pytest

from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import RunMustStop
from proofsweep_cli.exit_codes import ExitCode, code_of_error, epilog, exit_codes_table

PAGE = Path(__file__).parents[3] / "docs" / "command-line.md"


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
