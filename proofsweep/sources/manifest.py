"""Read manifests as a catalog: one file of rows, or several that match a glob. An item has one row."""

import hashlib
import posixpath
from array import array
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import count, islice

import pyarrow as pa
import pyarrow.compute as pc

from proofsweep.config.locations import one_line
from proofsweep.config.sections import USUAL_CATALOG, CatalogSettings
from proofsweep.domain.errors import CatalogError, EmptyCatalog
from proofsweep.domain.items import (
    PROOF_PREFIX,
    Declared,
    FileFacts,
    ManifestRow,
    id_without_audio,
    proof_id_of,
    utf8_text,
)
from proofsweep.domain.reasons import Ineligible, Reason
from proofsweep.domain.tags import NO_COLUMN, checksum_lists_in, key_of_value, path_maps_of, tag_named
from proofsweep.sources.catalog import (
    NO_SUPPLIER_FOLDER,
    UNFINISHED,
    CatalogBase,
    Cause,
    Ignored,
    SupplierFolder,
    row_with_facts,
)
from proofsweep.sources.cell_locations import CellLocations
from proofsweep.sources.checksums import Checksums
from proofsweep.sources.columns import Columns
from proofsweep.sources.completion_report import restored
from proofsweep.sources.file_lookup import FileLookup
from proofsweep.sources.files import Files
from proofsweep.sources.folder import sidecars_in
from proofsweep.sources.local import FOLDERS_KEPT
from proofsweep.sources.names import SidecarNames, composed
from proofsweep.sources.readers import (
    Encoding,
    Note,
    ReadAs,
    Record,
    encoding_of_manifest,
    has_one_header,
    manifest_words,
    note_bytes,
    records_of,
    refuse_unknown_columns,
)


class RepeatedIds:
    """Takes each id with its audio, or each audio with its sidecar, in sixteen bytes a row."""

    def __init__(self) -> None:
        self._ids, self._audio = array("q"), array("q")

    def add(self, item_id: str, audio: str) -> None:
        self._ids.append(hash(item_id))
        self._audio.append(hash(audio))

    def hashes(self, most_rows: int | None = None) -> frozenset[int]:
        """Return the hashes of the ids that seem to have different audio, of the first so many rows of them."""
        ids, audio = (
            pa.Int64Array.from_buffers(pa.int64(), len(each), [None, pa.py_buffer(each)])
            for each in (self._ids, self._audio)
        )
        order = pc.array_sort_indices(ids)
        ids, audio = ids.take(order), audio.take(order)
        is_other = pc.and_(pc.equal(ids[1:], ids[:-1]), pc.not_equal(audio[1:], audio[:-1]))
        rows = order[1:].filter(is_other).cast(pa.int64())
        first = rows.take(pc.array_sort_indices(rows))[:most_rows]
        return frozenset(self._ids[row.as_py()] for row in first)


_SUSPECTS = 1_000  # rows that seem to repeat an id, and are read again


class Manifests:
    """The rows of one manifest, or of several one after another."""

    kind = "manifest"
    skipped = 0
    reported_run: str | None = None
    deliveries = None

    def __init__(  # noqa: PLR0917 - collaborators
        self,
        location: str,
        paths: Sequence[str],
        files: Files,
        base: CatalogBase,
        settings: CatalogSettings = USUAL_CATALOG,
        supplier_tag: str = NO_SUPPLIER_FOLDER.tag,
    ) -> None:
        """Read the manifests at `paths`; only the files that they name are kept within the root of `files`."""
        self._base = base
        self.name, self.root = base.name, base.boundary
        self.location = utf8_text(location)
        self.ignored = Ignored()
        self._paths = paths
        self._files = files
        self._settings = settings
        self._supplier = SupplierFolder(settings.supplier_from, supplier_tag)
        self.delimiters: set[str] = set()
        self._encodings: dict[str, Encoding | None] = {}
        self._cells = CellLocations(self._base, path_maps_of(settings.path_map))
        self._manifest_files = files.within(None)
        self._digest: str | None = None
        self._suppliers: dict[str, str] = {}
        has_beside = settings.sidecars_beside and settings.columns.get("sidecar") != NO_COLUMN
        names = SidecarNames(settings.sidecar_names if has_beside else ())
        self._beside = lru_cache(FOLDERS_KEPT)(lambda folder: sidecars_in(folder, names, files))

    def rows(self) -> Iterator[ManifestRow]:
        """Read the manifests, with the facts of each file; objects are listed once, not requested.

        CatalogError if one cannot be read further, or changed; or, at the end, if there was no row, or one id has
        different audio.
        """
        digest, self._digest, self.ignored = hashlib.sha256(), None, Ignored()
        numbers, ids = count(), RepeatedIds()
        lookup = FileLookup(self._files, self._base.root, self._wanted, self.location)
        in_several_pairs = self._in_several_pairs()
        with closing(Checksums(self._base, self._files, self.ignored)) as checksums:
            checksums.read_named(checksum_lists_in(self._settings.checksums), self._manifest_files)
            for named in self._named_files(digest.update):
                if named.is_empty:
                    self.ignored[Cause.EMPTY_ROWS] += 1
                    continue
                row = self._row(next(numbers), named, lookup)
                if in_several_pairs and named.audio and hash(composed(named.audio[0])) in in_several_pairs:
                    row = replace(row, is_told_by_sidecar=True)
                if named.item_id is not None:
                    ids.add(named.item_id, row.named_audio or named.where)
                if row.audio and row.audio_facts is not None:
                    checksums.read_beside(row.audio)
                    if not checksums.unfinished.isdisjoint({row.audio, row.sidecar}):
                        row = replace(row, refused=UNFINISHED)
                yield checksums.with_declared(row)
        if next(numbers) == 0:
            raise EmptyCatalog(f"{one_line(self.location)}: there is no row in it", catalog=self.location)
        if suspects := ids.hashes(_SUSPECTS):
            self._refuse_repeated(suspects, lookup)
        self._digest = digest.hexdigest()

    def _row(self, number: int, named: "_NamedFiles", lookup: FileLookup) -> ManifestRow:
        audio, sidecar = named.located(lookup)
        tags = named.columns.tags_in(named.cells)
        if (name := tag_named(self._supplier.tag, tags)) is not None:  # in its first spelling
            tags[name] = self._suppliers.setdefault(key_of_value(tags[name]), tags[name])
        facts: FileFacts | None = None
        if audio and named.columns.sidecar is None and named.refused is None:
            sidecar, facts = self._beside(posixpath.dirname(audio)).get(audio, (None, None))
            self.ignored[Cause.SIDECARS_BESIDE] += sidecar is not None
        row = row_with_facts(
            lambda location: (location == sidecar and facts) or lookup.facts(location),
            self._base,
            number=number,
            audio=audio,
            sidecar=sidecar,
            item_id=named.item_id or (id_without_audio(self.name, number) if audio is None else None),
            tags=tags,
            refused=named.refused,
            where=named.where,
        )
        if supplier := self._supplier.tags_of(row.named_audio, named.columns.tags):
            row = replace(row, tags={**tags, **supplier})
        if named.columns.digests:
            digests, unused = named.columns.digests_in(named.cells)
            self.ignored[Cause.UNUSED_CHECKSUMS] += unused
            row = replace(row, declared=Declared(digests=digests))
        return row if row.refused is not None else self._with_hint(row, named, lookup)

    def _with_hint(self, row: ManifestRow, named: "_NamedFiles", lookup: FileLookup) -> ManifestRow:
        """Return a row whose audio or sidecar is missing with what may be wrong with its cell, if that can be said."""
        role, index, spellings, reason = "audio", named.columns.audio, named.audio, Reason.MISSING_AUDIO
        if row.audio_facts is not None:
            role, index, spellings, reason = "sidecar", named.columns.sidecar, named.sidecar, Reason.MISSING_SIDECAR
        is_missing = row.audio_facts is None or (row.sidecar is not None and row.sidecar_facts is None)
        hint = is_missing and (lookup.hint(spellings) or self._cells.hint(_cell(named.cells, index) or ""))
        if not hint:
            return row
        because = f"{named.where}: There is no {role} at this location{one_line(hint)}."
        return replace(row, refused=Ineligible(reason, because))

    def _refuse_repeated(self, suspects: frozenset[int], lookup: FileLookup) -> None:
        """Read the rows of these ids again, given as hashes: only the text shows whether two have one id."""
        first: dict[str, tuple[str, str]] = {}
        for named in self._named_files():
            if named.item_id is None or hash(named.item_id) not in suspects:
                continue
            audio = self._base.named(named.located(lookup)[0]) or named.where
            known, earlier = first.setdefault(named.item_id, (audio, named.where))
            if known != audio:
                raise CatalogError(
                    f"{one_line(self.location)}: {earlier}, and {named.where}, have the same id "
                    f"{one_line(named.item_id)!r} and different audio, so one answer would hide the other: give "
                    "--id-column none, or --id-column NAME with the column that names each file (in a config: "
                    "catalog.columns)"
                )

    def _in_several_pairs(self) -> frozenset[int]:
        """Return the hashes of the audio, as it is written, that rows without an id name with different sidecars."""
        pairs = RepeatedIds()
        if any(columns.sidecar is not None for path in self._paths for columns in self._headers(path)):
            for named in self._named_files():
                if named.item_id is None and named.audio:
                    pairs.add(composed(named.audio[0]), composed("".join(named.sidecar[:1])))
        return pairs.hashes()

    def digest(self) -> str:
        """Return the hex SHA-256 of the manifests' bytes as last read to the end; read them if that was not done."""
        if self._digest is None:
            digest = hashlib.sha256()
            for path in self._paths:
                note_bytes(path, self._manifest_files, digest.update)
            self._digest = digest.hexdigest()
        return self._digest

    def tag_names(self) -> list[str]:
        """Return the names of all tags, in their order; JSON lines are read to the end for them."""
        names = dict.fromkeys(name for path in self._paths for columns in self._headers(path) for name in columns.tags)
        return self._supplier.among(names)

    def _headers(self, path: str) -> Iterator[Columns]:
        records = self._table(path)
        return (columns for _, columns, _ in (islice(records, 1) if has_one_header(path) else records))

    def check(self) -> None:
        """Read the first row of each manifest; CatalogError if it fails, or if there is no audio column."""
        for path in self._paths:
            for _, columns, cells in islice(self._table(path), 1):
                self.reported_run = _cell(cells, columns.run) or self.reported_run

    @property
    def encodings(self) -> list[str]:
        """Return how the manifests of text are encoded, for a person: each that occurs."""
        return [*dict.fromkeys(each.words for each in map(self._encoding, self._paths) if each is not None)]

    @property
    def columns(self) -> list[tuple[str, str]]:
        """Return the columns of the first manifest, each with its role, its algorithm, or `tag`."""
        first = islice(self._records(self._paths[0]), 1)
        return [each for _, header, _ in first for each in Columns.of(header, self._settings).roles(header)]

    def _records(self, path: str, note: Note | None = None) -> Iterator[Record]:
        read_as = ReadAs(
            encoding=self._encoding(path),
            sheet=self._settings.sheet,
            header_row=self._settings.header_row,
            is_header=lambda cells: Columns.of(cells, self._settings).is_header,
            remark=str if note is None else lambda words: self.ignored.note(f"{one_line(path)}, {words}"),
            told=self.delimiters.add,
        )
        return records_of(path, self._manifest_files, note, read_as)

    def _encoding(self, path: str) -> Encoding | None:
        if path not in self._encodings:
            given = None if self._settings.encoding is None else Encoding(self._settings.encoding)
            self._encodings[path] = encoding_of_manifest(path, self._manifest_files, given)
        return self._encodings[path]

    def _table(self, path: str, note: Note | None = None) -> Iterator[tuple[int, Columns, Sequence[str]]]:
        known: dict[tuple[str, ...], Columns] = {}
        for line, header, cells in self._records(path, note):
            if (columns := known.get(header)) is None:
                columns = known[header] = Columns.of(header, self._settings)
                if len(known) == 1:
                    refuse_unknown_columns(path, header, cells, columns)
            yield line, columns, cells if columns.run is None else [restored(cell) for cell in cells]

    def _named_files(self, note: Note | None = None) -> Iterator["_NamedFiles"]:
        for path in self._paths:
            folder, words, encoding = posixpath.dirname(path), manifest_words(path), self._encoding(path)
            guess = encoding.name if encoding is not None and encoding.is_guess else None
            for line, columns, cells in self._table(path, note):
                cell = _cell(cells, columns.audio)
                cell = f"{PROOF_PREFIX}{cell.strip()}" if cell is not None and columns.is_of_proofs else cell
                audio, bad_audio = self._cells.located(cell, folder, guess)
                sidecar, bad_sidecar = self._cells.located(_cell(cells, columns.sidecar), folder, guess)
                if sidecar and audio and proof_id_of(audio[0]) is not None:
                    bad_sidecar = "a proof is verified by the service's own asset, and takes no sidecar."
                where, wrong, refused = f"{words} {line}", bad_audio or bad_sidecar, None
                if not audio:
                    wrong = bad_audio = "the manifest names no audio in this row."
                reason = Reason.MISSING_AUDIO if bad_audio else Reason.MISSING_SIDECAR
                if (formula := columns.formula_in(cells)) is not None:
                    reason, wrong = Reason.NOT_CALCULATED, f"the formula in {one_line(formula)} was not calculated."
                if wrong is not None:
                    refused = Ineligible(reason, f"{where}: {wrong}")
                item_id = columns.value(_cell(cells, columns.item_id) or "") or None
                is_empty = columns.is_empty(cells) and has_one_header(path)
                yield _NamedFiles(audio, sidecar, item_id, refused, columns, cells, where, is_empty)

    def _wanted(self) -> Iterator[str]:
        for named in self._named_files():
            yield from (*named.audio, *named.sidecar) if named.refused is None else ()


@dataclass(frozen=True, slots=True)
class _NamedFiles:
    audio: Sequence[str]  # how the location may be meant, the likeliest first; none if the cell is empty
    sidecar: Sequence[str]
    item_id: str | None
    refused: Ineligible | None  # by the row's own text alone; then a location is what may be shown of it
    columns: Columns
    cells: Sequence[str]
    where: str  # the manifest, and the record's place in it
    is_empty: bool

    def located(self, lookup: FileLookup) -> tuple[str | None, str | None]:
        """Return the locations of audio and sidecar; of a row that is refused, what may be shown of them."""
        if self.refused is None:
            return lookup.found(self.audio), lookup.found(self.sidecar)
        return next(iter(self.audio), None), next(iter(self.sidecar), None)


def _cell(cells: Sequence[str], index: int | None) -> str | None:
    text = "" if index is None else cells[index]
    return text if text.strip() else None
