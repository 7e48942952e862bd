"""Manifests as a catalog: one file of rows, or several that a glob names."""

import hashlib
import posixpath
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from proofsweep.batch.items import ManifestRow, printable
from proofsweep.errors import CatalogError
from proofsweep.storage.listing import listed_row
from proofsweep.storage.locations import one_line, path_of
from proofsweep.storage.passed_over import PassedOver
from proofsweep.storage.records import records_of
from proofsweep.storage.sources import Source

_AUDIO = ("audio", "path")
_PIECE_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Columns:
    """Where a manifest keeps what; names match whatever their case and the spaces around them."""

    audio: int | None
    sidecar: int | None
    item_id: int | None
    tags: Mapping[str, int]

    @classmethod
    def of(cls, header: Sequence[str]) -> "Columns":
        """Read a header; of `audio` and `path` the first wins, and the other is a tag like every further column."""
        plain = [name.strip().lower() for name in header]
        audio, sidecar, item_id = (
            next((plain.index(name) for name in names if name in plain), None)
            for names in (_AUDIO, ("sidecar",), ("id",))
        )
        tags: dict[str, int] = {}
        for index, name in enumerate(map(str.strip, header)):
            if index not in (audio, sidecar, item_id):
                is_new = name and name not in tags
                tags[name if is_new else f"{name or 'column'} ({index + 1})"] = index
        return cls(audio, sidecar, item_id, tags)


class Manifests:
    """The rows of one manifest, or of several one after another.

    Attributes:
        passed_over: nothing, ever: every row of a manifest counts.
    """

    kind = "manifest"

    def __init__(self, location: str, folder: str, paths: Sequence[str], source: Source) -> None:
        self.name = printable(posixpath.basename(location))
        self.location = printable(location)
        self.passed_over = PassedOver()
        self._folder = folder
        self._paths = paths
        self._source = source

    def rows(self) -> Iterator[ManifestRow]:
        """Read the manifests from the start, and look at each file that they name.

        Raises:
            CatalogError: where a manifest cannot be read further, or at the end when there was no row.
        """
        numbers = count()
        for path in self._paths:
            folder = posixpath.dirname(path)
            for columns, cells in _table(path):
                yield self._row(next(numbers), columns, cells, folder)
        if next(numbers) == 0:
            raise CatalogError(f"{one_line(self.location)}: there is no row in it")

    def digest(self) -> str:
        """Give the hex SHA-256 of the manifests' bytes."""
        digest = hashlib.sha256()
        for path in self._paths:
            with Path(path).open("rb") as file:
                while piece := file.read(_PIECE_BYTES):
                    digest.update(piece)
        return digest.hexdigest()

    def check(self) -> None:
        """Read the first row of each manifest; CatalogError when that fails or when there is no audio column."""
        for path in self._paths:
            next(_table(path), None)

    def _row(self, number: int, columns: Columns, cells: Sequence[str], folder: str) -> ManifestRow:
        audio = _cell(cells, columns.audio)
        sidecar = _cell(cells, columns.sidecar)
        return listed_row(
            self._source,
            self._folder,
            number=number,
            audio=audio and path_of(audio, folder),
            sidecar=sidecar and path_of(sidecar, folder),
            item_id=_cell(cells, columns.item_id),
            tags={name: cells[index] for name, index in columns.tags.items() if cells[index]},
        )


def _table(path: str) -> Iterator[tuple[Columns, Sequence[str]]]:
    """Give each record with its columns, which may differ from one JSON line to the next."""
    known: dict[tuple[str, ...], Columns] = {}
    for header, cells in records_of(path):
        columns = known.get(header)
        if columns is None:
            columns = known[header] = Columns.of(header)
            if len(known) == 1 and columns.audio is None:
                found = one_line(", ".join(header))
                raise CatalogError(f"{one_line(path)}: no column is named audio or path; the columns are: {found}")
        yield columns, cells


def _cell(cells: Sequence[str], index: int | None) -> str | None:
    """Give a cell's text as it stands; None when there is none, or only space."""
    text = "" if index is None else cells[index]
    return text if text.strip() else None
