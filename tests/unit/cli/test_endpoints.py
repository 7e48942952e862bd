"""The README's table names every endpoint of the contract, and only what exists."""

from importlib.util import find_spec

import typer

from proofsweep.domain.exchanges import Call
from proofsweep.store.schemas import SCHEMAS
from proofsweep_cli.app import whole_app
from proofsweep_cli.endpoints import USES, endpoints_table


def test_every_endpoint_has_its_row() -> None:
    """Eleven, in the contract's order; the slot and the download are no endpoints."""
    assert set(USES) == {*Call} - {Call.SLOT, Call.DOWNLOAD}
    assert len(USES) == 11
    assert endpoints_table().count("\n") == 13


def test_the_table_names_only_what_exists() -> None:
    """Commands, flows and tables."""
    root = typer.main.get_command(whole_app())
    for use in USES.values():
        for command in use.commands:
            found = root
            for word in command.split():
                found = getattr(found, "commands", {})[word]
        assert use.flow is None or find_spec(f"proofsweep_flows.{use.flow}") is not None
        assert set(use.tables) <= set(SCHEMAS)
