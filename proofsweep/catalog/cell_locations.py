"""The location that a cell of a manifest names, and what may be wrong with a cell that names no file."""

import os
from collections.abc import Sequence

from proofsweep.catalog.path_maps import MapHints, PathMaps
from proofsweep.errors import CatalogError, SourceError
from proofsweep.files.files import Files
from proofsweep.files.locations import hint_for, is_bucket, is_windows, path_of, without_secrets
from proofsweep.model.items import NO_PROOF_IDS, printable, proof_id_of


class CellLocations:
    """Reads the cells of one catalog."""

    def __init__(self, files: Files, root: str, path_maps: Sequence[tuple[str, str]]) -> None:
        """Take the files that a cell may name, the catalog's root, and what beginnings of cells stand for."""
        self._files = files
        self._maps = PathMaps(path_maps)
        self._hints = MapHints(root, self._is_there)

    def located(self, cell: str | None, folder: str, guess: str | None) -> tuple[str | None, str | None]:
        """Return the location that a cell names; if it names none, what may be shown of it and what is wrong.

        If no file is there, it may be meant otherwise: with slashes, or in the bytes of a `guess` at the encoding.
        """
        written = None if cell is None else self._maps.mapped(cell)
        as_written = location, _ = _located(written, folder)
        if written is None or location is None or not (others := _other_spellings(written, guess)):
            return as_written
        spellings = (as_written, *(_located(each, folder) for each in others))
        return next((each for each in spellings if each[0] is not None and self._is_there(each[0])), as_written)

    def _is_there(self, location: str) -> bool:
        """Whether a file of this machine is at a location; objects are not asked for one by one."""
        try:
            return not is_bucket(location) and self._files.facts(location) is not None
        except SourceError:
            return False

    def hint(self, written: str) -> str:
        """Return what may be wrong with a cell at whose location nothing is; empty if it looks right."""
        return self._hints.hint(written) if is_windows(written) else hint_for(written)


def _other_spellings(written: str, guess: str | None) -> list[str]:
    """Return how a cell may be meant too: with slashes, or as a name in the manifest's own bytes."""
    others = [written.replace("\\", "/")] if "\\" in written else []
    return others if guess is None or written.isascii() else [*others, os.fsdecode(written.encode(guess, "replace"))]


def _located(cell: str | None, folder: str) -> tuple[str | None, str | None]:
    """Return the location that a cell names; if it names none, what may be shown of it and what is wrong."""
    if cell is None:
        return None, None
    proof_id = proof_id_of(cell)
    if proof_id is not None:
        is_one = proof_id.strip() and proof_id not in NO_PROOF_IDS and printable(proof_id) == proof_id
        return cell, None if is_one else "this is no proof ID."
    try:
        return path_of(cell, folder), None
    except CatalogError as error:
        return without_secrets(cell), error.message
