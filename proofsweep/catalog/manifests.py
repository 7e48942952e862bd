"""Read manifests as a catalog: one file of rows, or several that match a glob."""

import hashlib
import posixpath
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from itertools import count, islice
from typing import TYPE_CHECKING

from proofsweep.catalog.catalog import CatalogBase, FactsOf, Ignored, row_with_facts
from proofsweep.catalog.manifest_formats import Note, has_one_header, manifest_words, records_of
from proofsweep.errors import CatalogError, EmptyCatalog, SourceError
from proofsweep.files.files import Files
from proofsweep.files.locations import hint_for, is_bucket, one_line, path_of, without_secrets
from proofsweep.files.source import Source
from proofsweep.model.completion_report import RUN_COLUMN, own_columns, restored
from proofsweep.model.items import NO_PROOF_IDS, PROOF_PREFIX, FileFacts, ManifestRow, Unlisted, printable, proof_id_of
from proofsweep.model.reasons import Ineligible, Reason
from proofsweep.model.tags import key_of_tag

if TYPE_CHECKING:
    from proofsweep.catalog.object_lookup import ObjectLookup

_AUDIO = ("audio", "path", "proof_id")
"""Would call another endpoint, since paths are normalised."""


@dataclass(frozen=True, slots=True)
class Columns:
    """The position of each column; names match in any case and with spaces around them.

    Attributes:
        is_of_proofs: whether the audio's column holds bare proof IDs.
        run: names the run of a row in a completion report of ours, whose own columns are no tags.
    """

    audio: int | None
    sidecar: int | None
    item_id: int | None
    tags: Mapping[str, int]
    run: int | None = None
    is_of_proofs: bool = False

    @classmethod
    def of(cls, header: Sequence[str]) -> "Columns":
        """Read a header; `audio` goes before `path`, this before `proof_id`, and every other column is a tag."""
        plain = [name.strip().lower() for name in header]
        audio, sidecar, item_id = (
            next((plain.index(name) for name in names if name in plain), None)
            for names in (_AUDIO, ("sidecar",), ("id",))
        )
        own = own_columns(header)
        tags: dict[str, int] = {}
        keys = {""}  # of tags without a name, and of those that are there: a row has each tag once
        for index, name in enumerate(map(str.strip, map(restored, header) if own else header)):
            if index not in {audio, sidecar, item_id, *own}:
                key = key_of_tag(name)
                tags[f"{name or 'column'} ({index + 1})" if key in keys else name] = index
                keys.add(key)
        is_of_proofs = audio is not None and plain[audio] == "proof_id"
        run = next((at for at in own if plain[at] == RUN_COLUMN), None)
        return cls(audio, sidecar, item_id, tags, run, is_of_proofs)


class Manifests:
    """The rows of one manifest, or of several one after another.

    Attributes:
        ignored: always empty, since every row of a manifest counts.
    """

    kind = "manifest"
    skipped = 0
    reported_run: str | None = None

    def __init__(
        self, location: str, folder: str, paths: Sequence[str], files: Files, base: CatalogBase | None = None
    ) -> None:
        """Read the manifests at `paths`; only the files that they name are kept within the root of `files`."""
        self._base = base or CatalogBase(folder)
        self.name, self.root = self._base.name, self._base.boundary
        self.location = printable(location)
        self.ignored = Ignored()
        self._paths = paths
        self._files = files
        self._manifest_files = files.within(None)
        self._digest: str | None = None

    def rows(self) -> Iterator[ManifestRow]:
        """Read the manifests from the start, with the facts of each file; objects are listed once, not requested.

        Raises:
            CatalogError: a manifest cannot be read further, or changed meanwhile; or, at the end, there was no row.
        """
        digest, self._digest = hashlib.sha256(), None
        numbers = count()
        facts_of = self._facts_of()
        for named in self._named_files(digest.update):
            row = row_with_facts(
                facts_of,
                self._base,
                number=next(numbers),
                audio=named.audio,
                sidecar=named.sidecar,
                item_id=_cell(named.cells, named.columns.item_id),
                tags={name: named.cells[index] for name, index in named.columns.tags.items() if named.cells[index]},
                refused=named.refused,
                where=named.where,
            )
            yield row if row.audio_facts is not None or row.refused is not None else _with_hint(row, named)
        if next(numbers) == 0:
            raise EmptyCatalog(f"{one_line(self.location)}: there is no row in it")
        self._digest = digest.hexdigest()

    def digest(self) -> str:
        """Return the hex SHA-256 of the manifests' bytes as last read to the end; read them if that was not done."""
        if self._digest is None:
            digest = hashlib.sha256()
            for path in self._paths:
                next(records_of(path, self._manifest_files, digest.update), None)
            self._digest = digest.hexdigest()
        return self._digest

    def tag_names(self) -> list[str]:
        """Return the names of all tags, in their order; JSON lines are read to the end for them."""
        tables = ((path, _table(path, self._manifest_files)) for path in self._paths)
        headers = (islice(table, 1) if has_one_header(path) else table for path, table in tables)
        return [*dict.fromkeys(name for table in headers for _, columns, _ in table for name in columns.tags)]

    def check(self) -> None:
        """Read the first row of each manifest; CatalogError if that fails or if there is no audio column."""
        for path in self._paths:
            for _, columns, cells in islice(_table(path, self._manifest_files), 1):
                self.reported_run = _cell(cells, columns.run) or self.reported_run

    def _named_files(self, note: Note | None = None) -> Iterator["_NamedFiles"]:
        """Yield the locations of each row's files, and the row's cells."""
        for path in self._paths:
            folder, words = posixpath.dirname(path), manifest_words(path)
            for line, columns, cells in _table(path, self._manifest_files, note):
                audio, bad_audio = _located(_audio_of(cells, columns), folder)
                sidecar, bad_sidecar = _located(_cell(cells, columns.sidecar), folder)
                if sidecar is not None and audio is not None and proof_id_of(audio) is not None:
                    bad_sidecar = "a proof is verified by the service's own asset, and takes no sidecar."
                where, wrong, refused = f"{words} {line}", bad_audio or bad_sidecar, None
                if wrong is not None:
                    reason = Reason.MISSING_AUDIO if bad_audio else Reason.MISSING_SIDECAR
                    refused = Ineligible(reason, f"{where}: {wrong}")
                yield _NamedFiles(audio, sidecar, refused, columns, cells, where)

    def _facts_of(self) -> FactsOf:
        """Ask for the facts of local files one by one; the first object causes the listing of all objects."""

        @cache
        def objects() -> "ObjectLookup":
            from proofsweep.catalog.object_lookup import ObjectLookup  # noqa: PLC0415 - only for buckets

            try:
                return ObjectLookup(self._objects(), self._files.buckets)
            except SourceError as error:
                cause = f"its objects cannot be listed. {error.message}"
                raise CatalogError(f"{one_line(self.location)}: {cause}") from error

        def facts_of(location: str) -> FileFacts | Unlisted | None:
            if proof_id_of(location) is not None:
                return Unlisted.UNLISTED
            if not is_bucket(location):
                return self._files.facts(location)
            self._files.refuse_outside(location)
            return objects().facts(location)

        return facts_of

    def _objects(self) -> Iterator[str]:
        """Yield the bucket URLs that the rows name, except those outside the root, of which nothing is asked."""
        for named in self._named_files():
            for location in (named.audio, named.sidecar):
                if location and named.refused is None and is_bucket(location):
                    with suppress(SourceError):
                        self._files.refuse_outside(location)
                        yield location


@dataclass(frozen=True, slots=True)
class _NamedFiles:
    """The files that one record names.

    Attributes:
        refused: why this row cannot be sent, by its own text alone; then a location is what may be shown of it.
        where: the manifest, and the record's place in it.
    """

    audio: str | None
    sidecar: str | None
    refused: Ineligible | None
    columns: Columns
    cells: Sequence[str]
    where: str


def _with_hint(row: ManifestRow, named: _NamedFiles) -> ManifestRow:
    """Return of a row without audio what may be wrong with its cell, if that can be seen."""
    hint = hint_for(_cell(named.cells, named.columns.audio) or "")
    if not hint:
        return row
    because = f"{named.where}: There is no audio at this location{hint}."
    return replace(row, refused=Ineligible(Reason.MISSING_AUDIO, because))


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


def _table(path: str, source: Source, note: Note | None = None) -> Iterator[tuple[int, Columns, Sequence[str]]]:
    """Yield each record with its line and columns, which may differ between JSON lines."""
    known: dict[tuple[str, ...], Columns] = {}
    for line, header, cells in records_of(path, source, note):
        columns = known.get(header)
        if columns is None:
            columns = known[header] = Columns.of(header)
            if len(known) == 1 and columns.audio is None:
                found = one_line(", ".join(header))
                raise CatalogError(f"{one_line(path)}: no column is named audio or path; the columns are: {found}")
        yield line, columns, cells if columns.run is None else [restored(cell) for cell in cells]


def _audio_of(cells: Sequence[str], columns: Columns) -> str | None:
    cell = _cell(cells, columns.audio)
    return f"{PROOF_PREFIX}{cell.strip()}" if cell is not None and columns.is_of_proofs else cell


def _cell(cells: Sequence[str], index: int | None) -> str | None:
    """Return a cell's text unchanged; None if it is absent or only space."""
    text = "" if index is None else cells[index]
    return text if text.strip() else None
