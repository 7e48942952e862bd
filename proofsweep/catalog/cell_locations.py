"""The location that a cell of a manifest names, and what may be wrong with a cell that names no file."""

import os
from collections.abc import Sequence

from proofsweep.catalog.catalog import CatalogBase
from proofsweep.catalog.path_maps import MapHints, PathMaps
from proofsweep.errors import CatalogError
from proofsweep.files.files import Files
from proofsweep.files.locations import hint_for, is_windows, path_of, without_secrets
from proofsweep.model.items import NO_PROOF_IDS, printable, proof_id_of


class CellLocations:
    """Reads the cells of one catalog."""

    def __init__(self, files: Files, base: CatalogBase, path_maps: Sequence[tuple[str, str]]) -> None:
        """Take the files that a cell may name, the catalog's base, and what beginnings of cells stand for."""
        self._base = base
        self._files = files
        self._maps = PathMaps(path_maps)
        self._hints = MapHints(base.root)

    def located(self, cell: str | None, folder: str, guess: str | None) -> tuple[Sequence[str], str | None]:
        """Return the locations that a cell may name, the likeliest first; if it names none, what may be shown of it.

        The second value is what is wrong then. A path of Windows comes first as it is written, and not joined to a
        folder of ours. A cell may be meant otherwise than written, also in the bytes of a `guess` at the encoding.
        """
        if cell is None:
            return (), None
        written = self._maps.mapped(cell)
        location, wrong = self._as_written(written, folder)
        if wrong is not None:
            return (location,), wrong
        others = (self._as_written(each, folder) for each in _other_spellings(written, guess))
        spellings = (location, *(other for other, other_wrong in others if other_wrong is None))
        return ((written, *spellings) if is_windows(written) else spellings), None

    def _as_written(self, cell: str, folder: str) -> tuple[str, str | None]:
        proof_id = proof_id_of(cell)
        if proof_id is not None:
            is_one = proof_id.strip() and proof_id not in NO_PROOF_IDS and printable(proof_id) == proof_id
            return cell, None if is_one else "this is no proof ID."
        try:
            return self._base.without_dots(path_of(cell, folder)), None
        except CatalogError as error:
            return without_secrets(cell), error.message

    def hint(self, written: str) -> str:
        """Return what may be wrong with a cell at whose location nothing is; empty if it looks right."""
        mapped = self._maps.mapped(written)
        return self._hints.hint(mapped) if is_windows(mapped) else hint_for(mapped)


def _other_spellings(written: str, guess: str | None) -> list[str]:
    """Return how a cell may be meant too: with slashes, or in the manifest's own bytes."""
    others = [written.replace("\\", "/")] if "\\" in written else []
    return others if guess is None or written.isascii() else [*others, os.fsdecode(written.encode(guess, "replace"))]
