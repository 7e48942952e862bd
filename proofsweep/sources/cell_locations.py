r"""The location that a cell of a manifest names, also one of another machine, such as `D:\Musik\song.wav`."""

import os
import posixpath
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from proofsweep.config.locations import hint_for, is_bucket, is_windows, one_line, path_of, without_secrets
from proofsweep.domain.errors import CatalogError
from proofsweep.domain.items import NO_PROOF_IDS, proof_id_of, utf8_text
from proofsweep.sources.catalog import CatalogBase
from proofsweep.sources.names import caseless

# Rows whose files are looked for below the root before no more is guessed about the paths of one drive.
_GUESSES = 20


class PathMaps:
    """Beginnings of written locations, and the folders that they stand for; the longest beginning counts."""

    def __init__(self, maps: Iterable[tuple[str, str]]) -> None:
        """Compare beginnings part by part without regard to case, to the form of Unicode and to the slash."""
        cut = ((caseless(_forward(written).rstrip("/")).split("/"), folder) for written, folder in maps)
        self._maps = sorted(cut, key=lambda each: -len(each[0]))

    def mapped(self, written: str) -> str:
        """Return where a written location leads; as it is if no beginning fits."""
        slashed = written if written.startswith("/") else _forward(written)  # POSIX names may have backslashes
        parts = slashed.split("/") if self._maps else []
        for beginning, folder in self._maps:
            if [*map(caseless, parts[: len(beginning)])] == beginning:
                rest = "/".join(parts[len(beginning) :]).lstrip("/")
                return posixpath.join(folder, rest) if rest else folder
        return written


class MapHints:
    """Says which map would help, by looking for the files below the catalog's root."""

    def __init__(self, root: str, is_there: Callable[[str], object] = posixpath.isfile) -> None:
        self._is_there = is_there
        self._root = root
        self._found: dict[str, str] = {}
        self._tried = Counter[str]()

    def hint(self, written: str) -> str:
        """Return what a row with a path of Windows needs, in brackets."""
        parts = _forward(written).split("/")
        head = 4 if written.startswith("\\\\") else 1  # a server and its share, or a drive
        drive = _backward(parts[:head])
        if drive not in self._found and self._tried[drive] < _GUESSES and not is_bucket(self._root):
            self._tried[drive] += 1
            below = (at for at in range(head, len(parts)) if self._is_there(posixpath.join(self._root, *parts[at:])))
            if (at := next(below, None)) is not None:
                self._found[drive] = f"{_backward(parts[:at])}={self._root}"
        given = self._found.get(drive) or f"{_backward(parts[: min(head + 1, len(parts) - 1)])}=FOLDER"
        return f" (this looks like a Windows path: give --path-map '{one_line(given)}')"


def _backward(parts: Sequence[str]) -> str:
    return "\\".join(parts)


def _forward(written: str) -> str:
    return written.replace("\\", "/")


class CellLocations:
    def __init__(self, base: CatalogBase, path_maps: Iterable[tuple[str, str]]) -> None:
        self._base = base
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
            is_one = proof_id.strip() and proof_id not in NO_PROOF_IDS and utf8_text(proof_id) == proof_id
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
    others = [_forward(written)] if "\\" in written else []
    return others if guess is None or written.isascii() else [*others, os.fsdecode(written.encode(guess, "replace"))]
