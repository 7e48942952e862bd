"""Read manifests as a catalog: one file of rows, or several that match a glob."""

import hashlib
import posixpath
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING

from proofsweep.domain.items import FileFacts, ManifestRow, Unlisted, printable
from proofsweep.errors import CatalogError, EmptyCatalog, SourceError
from proofsweep.storage.catalog.ignored import Ignored
from proofsweep.storage.catalog.manifest_formats import records_of
from proofsweep.storage.catalog.row_facts import FactsOf, row_with_facts
from proofsweep.storage.files.buffered import buffered
from proofsweep.storage.files.files import Files
from proofsweep.storage.files.source import Source
from proofsweep.storage.locations import is_bucket, one_line, path_of

if TYPE_CHECKING:
    from proofsweep.storage.catalog.object_lookup import ObjectLookup

_AUDIO = ("audio", "path")
# chosen: bytes that are hashed at once; half or twice changes only the memory.
_PIECE_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Columns:
    """The position of each column; names match in any case and with spaces around them."""

    audio: int | None
    sidecar: int | None
    item_id: int | None
    tags: Mapping[str, int]

    @classmethod
    def of(cls, header: Sequence[str]) -> "Columns":
        """Read a header; `audio` goes before `path`, and every other column is a tag."""
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
        ignored: always empty, since every row of a manifest counts.
    """

    kind = "manifest"

    def __init__(self, location: str, folder: str, paths: Sequence[str], files: Files) -> None:
        self.name = printable(posixpath.basename(location))
        self.location = printable(location)
        self.ignored = Ignored()
        self._folder = folder
        self._paths = paths
        self._files = files

    def rows(self) -> Iterator[ManifestRow]:
        """Read the manifests from the start, with the facts of each file; objects are listed once, not requested.

        Raises:
            CatalogError: a manifest cannot be read further; or, at the end, there was no row.
        """
        numbers = count()
        facts_of = self._facts_of()
        for audio, sidecar, columns, cells in self._records():
            yield row_with_facts(
                facts_of,
                self._folder,
                number=next(numbers),
                audio=audio,
                sidecar=sidecar,
                item_id=_cell(cells, columns.item_id),
                tags={name: cells[index] for name, index in columns.tags.items() if cells[index]},
            )
        if next(numbers) == 0:
            raise EmptyCatalog(f"{one_line(self.location)}: there is no row in it")

    def digest(self) -> str:
        """Give the hex SHA-256 of the manifests' bytes."""
        digest = hashlib.sha256()
        for path in self._paths:
            try:
                file = self._files.open(path)
                if file is None:
                    raise CatalogError(f"{one_line(path)}: no longer exists")
                with buffered(file) as content:
                    while piece := content.read(_PIECE_BYTES):
                        digest.update(piece)
            except SourceError as error:
                raise CatalogError(f"{one_line(path)}: cannot be read. {error.message}") from error
        return digest.hexdigest()

    def check(self) -> None:
        """Read the first row of each manifest; CatalogError if that fails or if there is no audio column."""
        for path in self._paths:
            next(_table(path, self._files), None)

    def _records(self) -> Iterator[tuple[str | None, str | None, Columns, Sequence[str]]]:
        """Give the locations of each row's files, and the row's cells."""
        for path in self._paths:
            folder = posixpath.dirname(path)
            for columns, cells in _table(path, self._files):
                audio, sidecar = _cell(cells, columns.audio), _cell(cells, columns.sidecar)
                yield audio and path_of(audio, folder), sidecar and path_of(sidecar, folder), columns, cells

    def _facts_of(self) -> FactsOf:
        """Ask for the facts of local files one by one; the first object causes the listing of all objects."""
        objects: ObjectLookup | None = None

        def facts_of(location: str) -> FileFacts | Unlisted | None:
            nonlocal objects
            if not is_bucket(location):
                return self._files.facts(location)
            if objects is None:
                objects = self._list_objects()
            return objects.facts(location)

        return facts_of

    def _list_objects(self) -> "ObjectLookup":
        from proofsweep.storage.catalog.object_lookup import ObjectLookup  # noqa: PLC0415 - only for buckets

        locations = (each for record in self._records() for each in record[:2] if each and is_bucket(each))
        try:
            return ObjectLookup(locations, self._files.buckets)
        except SourceError as error:
            raise CatalogError(f"{one_line(self.location)}: its objects cannot be listed. {error.message}") from error


def _table(path: str, source: Source) -> Iterator[tuple[Columns, Sequence[str]]]:
    """Give each record with its columns, which may differ between JSON lines."""
    known: dict[tuple[str, ...], Columns] = {}
    for header, cells in records_of(path, source):
        columns = known.get(header)
        if columns is None:
            columns = known[header] = Columns.of(header)
            if len(known) == 1 and columns.audio is None:
                found = one_line(", ".join(header))
                raise CatalogError(f"{one_line(path)}: no column is named audio or path; the columns are: {found}")
        yield columns, cells


def _cell(cells: Sequence[str], index: int | None) -> str | None:
    """Give a cell's text unchanged; None if it is absent or only space."""
    text = "" if index is None else cells[index]
    return text if text.strip() else None
