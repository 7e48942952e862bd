"""The table of endpoints names what there is."""

import runpy
from importlib.util import find_spec
from pathlib import Path

import typer

from proofsweep.domain.exchanges import Call
from proofsweep.store.parts import SCHEMAS
from proofsweep_cli.app import whole_app

PAGE = Path(__file__).parents[3] / "docs" / "command-line.md"
RENDER = runpy.run_path(str(PAGE.with_name("render.py")))


def test_the_table_has_every_endpoint_and_names_only_what_exists() -> None:
    """Eleven, in the contract's order, with commands, flows and tables; slot and download are no endpoints."""
    root = typer.main.get_command(whole_app())
    for commands, flow, tables in RENDER["USES"].values():
        for command in commands:
            found = root
            for word in command.split():
                found = getattr(found, "commands", {})[word]
        assert flow is None or find_spec(f"proofsweep_flows.{flow}") is not None
        assert set(tables) <= set(SCHEMAS)
    assert set(RENDER["USES"]) == {*Call} - {Call.SLOT, Call.DOWNLOAD}
    assert RENDER["endpoints_table"]().count("\n") == 13
