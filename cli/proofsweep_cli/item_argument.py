"""The item that a person names: a file may be named as seen from the current folder."""

from pathlib import Path

import typer

from proofsweep.wiring.stores import path_here

Item = typer.Argument(
    ..., metavar="ITEM", help="The item's `item_id`, or the location of its audio; proofsweep explain prints both."
)


def item_of(text: str) -> str:
    """Return a file that is there by its whole location, as the tables have it; other text as it is."""
    return path_here(text) if Path(text).is_file() else text
