"""Read manifests as a catalog: one file of rows, or several that match a glob. An item has one row."""

import hashlib
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import lru_cache
from itertools import chain, islice
from types import MappingProxyType
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from proofsweep.config.locations import one_line, split_location
from proofsweep.config.sections import USUAL_CATALOG, CatalogSettings
from proofsweep.domain.errors import CatalogError, EmptyCatalog, ResourceShortage, SourceError
from proofsweep.domain.items import (
    Declared,
    ManifestRow,
    id_without_audio,
    proof_id_of,
    utf8_text,
)
from proofsweep.domain.reasons import Ineligible, Reason
from proofsweep.domain.runs import MANIFEST
from proofsweep.domain.tags import NO_COLUMN, checksum_lists_in, key_of_value, path_maps_of
from proofsweep.files.files import Files
from proofsweep.files.folder_listing import FOLDERS_KEPT, Cause, ignored_words
from proofsweep.files.names import composed
from proofsweep.sources.catalog import (
    Catalog,
    CatalogBase,
    FactsOf,
    Findings,
    ListFacts,
    SupplierFolder,
    findings_of,
    refusal,
)
from proofsweep.sources.cells import BINARY, cells_without_value, value_of
from proofsweep.sources.checksums import Checksums
from proofsweep.sources.columns import Columns, cell_at
from proofsweep.sources.file_lookup import CellLocations, FileLookup
from proofsweep.sources.not_in_list import ListedFiles
from proofsweep.sources.notes_below import MOST_NOTES, NotesBelow, is_total
from proofsweep.sources.pairing import NOTHING_BESIDE, Beside, sidecars_in
from proofsweep.sources.readers import ManifestFile, Note
from proofsweep.sources.sidecars import SidecarNames
from proofsweep.sources.spelling import loose

HOW_TO_NAME_FILES = (
    "set catalog.columns.id to 'none' if the column does not name each file, or to the name of the column that does"
)
_ENCODING_WORDS = {"cp1252": "Windows-1252", "utf-8": "UTF-8", "utf-16": "UTF-16"}  # others have the codec's name


class _Line(NamedTuple):
    columns: Columns
    cells: Sequence[str]
    where: str  # the manifest, and the record's place in it
    audio: str | None  # None if the cell is empty; of a row that is refused, what may be shown of it
    sidecar: str | None
    item_id: str | None
    name: str | None  # what must not name two files: the item ID, or a cell that may be meant for one
    refused: Ineligible | None  # by the row's own text alone
    is_below: bool = False  # it may be a total, or a note below the list; if it names a file after all, it is a row


class Manifests(Catalog):
    """The rows of one manifest, or of several one after another."""

    kind = MANIFEST

    def __init__(
        self,
        location: str,
        paths: Sequence[str],
        files: Files,
        base: CatalogBase,
        *,
        settings: CatalogSettings = USUAL_CATALOG,
        parts: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Read the manifests at `paths`; only the files that they name are kept within the root of `files`.

        Of those that are `parts`, the folder that is the whole manifest is given.
        """
        self._base = base
        self.name, self.root = base.name, base.boundary
        self.location = utf8_text(location)
        self.ignored = Counter[Cause]()
        self.lists: list[ListFacts] = []
        self._files = files
        plain = files.within(None)
        self._manifests = [ManifestFile(path, plain, settings, whole=parts.get(path)) for path in paths]
        self._settings = settings
        self._supplier = SupplierFolder(settings.supplier_from)
        self._suppliers: dict[str, str] = {}  # each in the spelling that came first
        self._cells = CellLocations(base, path_maps_of(settings.path_map))
        self._digest: str | None = None
        self._named = ListedFiles(base)
        has_beside = settings.columns.get("sidecar") != NO_COLUMN
        self._sidecar_names = SidecarNames(settings.sidecar_names if has_beside else ())
        self._beside = lru_cache(FOLDERS_KEPT)(self._sidecars_in)

    def rows(self) -> Iterator[ManifestRow]:
        """Read the manifests, with the facts of each file; objects are listed once, not requested.

        CatalogError if one cannot be read further, or changed; or, at the end, if there was no row, or one id has
        different audio.
        """
        digest, self._digest = hashlib.sha256(), None
        self.ignored, self.lists = Counter[Cause](), []
        self._named = ListedFiles(self._base)
        number, ids = 0, RepeatedIds()
        lookup = FileLookup(self._files, self._wanted, self.location, self._base.boundary)
        in_several_pairs = self._in_several_pairs()
        with closing(Checksums(self._base, self._files, self.ignored)) as checksums:
            checksums.read_named(checksum_lists_in(self._settings.checksums))
            for line in self._lines(digest.update):
                cause = self._why_no_row(line, lookup)
                if cause is not None:
                    self.ignored[cause] += 1
                    continue
                row = self._row(number, line, lookup)
                number += 1
                self._named.add(row)
                if in_several_pairs and line.audio and hash(loose(line.audio)) in in_several_pairs:
                    row = replace(row, is_told_by_sidecar=True)
                if line.name is not None:
                    ids.add(line.name, row.named_audio or line.where)
                if row.audio and row.audio_facts is not None:
                    checksums.read_beside(row.audio)
                yield checksums.with_declared(row)
            checksums.count_unused()
        if number == 0:
            raise self._no_row()
        repeated = ids.hashes()
        if repeated:
            self._refuse_repeated(repeated, lookup)
        self._digest = digest.hexdigest()

    def files_beside(self) -> Iterator[str]:
        return self._named.others(self._files)

    def digest(self) -> str:
        """Return the hex SHA-256 of the manifests' bytes as last read to the end; read them if that was not done."""
        if self._digest is None:
            digest = hashlib.sha256()
            for manifest in self._manifests:
                manifest.note_bytes(digest.update)
            self._digest = digest.hexdigest()
        return self._digest

    def tag_names(self) -> list[str]:
        """Return the names of all tags, in their order; JSON lines are read to the end for them."""
        names = dict.fromkeys(name for columns in self._headers() for name in columns.tags)
        return self._supplier.among(names)

    def check(self) -> None:
        """Read the first row of each manifest; CatalogError if it fails, or if there is no audio column."""
        for manifest in self._manifests:
            for _, columns, _ in islice(manifest.records(), 1):
                self.columns = self.columns or columns.roles
        encodings = [manifest.encoding for manifest in self._manifests if manifest.encoding is not None]
        self.encodings = [_ENCODING_WORDS.get(codec, codec) for codec in dict.fromkeys(encodings)]

    def _no_row(self) -> EmptyCatalog:
        ignored = ""
        if self.ignored.total():
            ignored = f"; ignored: {ignored_words(self.ignored)}"
        return EmptyCatalog(f"{one_line(self.location)}: there is no row in it{ignored}", catalog=self.location)

    def _row(self, number: int, line: _Line, lookup: FileLookup) -> ManifestRow:
        columns = line.columns
        audio, sidecar = _located(line, lookup)
        beside, unlisted = NOTHING_BESIDE, None
        # Without a column for sidecars, the one that lies beside the audio is sent with it.
        if audio and columns.sidecar is None and line.refused is None:
            audio = lookup.listed(audio)
            folder, unlisted = self._beside(split_location(audio)[0])
            beside = folder.get(audio, NOTHING_BESIDE)
            sidecar = beside.sidecar
            if sidecar is not None:
                self.ignored[Cause.SIDECARS_BESIDE] += 1
        facts_of = _with_known_sidecar(lookup.facts, beside)
        findings = findings_of(audio, sidecar, facts_of, line.refused or beside.refused, line.where)
        refused = findings.refused
        instead = ""
        if refused is None:
            instead = _nearest_words(audio, sidecar, findings, lookup)
            # Nobody knows whether a sidecar lies beside it: it is not sent alone.
            if unlisted is not None:
                refused = _refused_unlisted(line, unlisted)
        item_id = line.item_id
        if audio is None and not item_id:
            item_id = id_without_audio(self.name, number)
        named_audio = self._base.named(audio)
        return ManifestRow(
            number=number,
            audio=audio,
            sidecar=sidecar,
            named_audio=named_audio,
            named_sidecar=self._base.named(sidecar),
            item_id=item_id,
            tags=self._tags_of(line, named_audio),
            audio_facts=findings.audio,
            sidecar_facts=findings.sidecar,
            refused=refused,
            where=line.where,
            instead=instead,
            contested_sidecar=beside.contested,
            declared=self._declared_by(line),
        )

    def _tags_of(self, line: _Line, named_audio: str) -> Mapping[str, str]:
        columns = line.columns
        tags = columns.tags_in(line.cells)
        # One supplier, however it is spelled, is one group of files.
        name = columns.supplier
        if name is not None and name in tags:
            supplier = tags[name]
            tags[name] = self._suppliers.setdefault(key_of_value(supplier), supplier)
        if self._supplier.number is not None:
            tags.update(self._supplier.tags_of(named_audio, columns.tags))
        return tags

    def _declared_by(self, line: _Line) -> Declared | None:
        if not line.columns.digests:
            return None
        digests, unused = line.columns.digests_in(line.cells)
        self.ignored[Cause.UNUSED_CHECKSUMS] += unused
        return Declared(digests=digests)

    def _why_no_row(self, line: _Line, lookup: FileLookup) -> Cause | None:
        if line.is_below and not self._is_there(line, lookup):
            return Cause.NOTES_BELOW
        if self._is_excluded(line):
            return Cause.EXCLUDED
        return None

    def _is_excluded(self, line: _Line) -> bool:
        # What a person has left out alarms nobody night after night.
        if not self._settings.exclude or not line.audio:
            return False
        return self._files.rule.is_excluded(self._base.named(line.audio).lstrip("/"))

    def _is_there(self, line: _Line, lookup: FileLookup) -> bool:
        """Whether there is a file, or may be one, at what a note below the list has in the place of the audio."""
        if line.audio is None or line.refused is not None:
            return False
        try:
            location = lookup.found(line.audio)
            return location is not None and lookup.facts(location) is not None
        except SourceError:
            return True

    def _sidecars_in(self, folder: str) -> tuple[Mapping[str, Beside], SourceError | None]:
        """Return what lies beside the audio of a folder, or why that is not known."""
        try:
            return sidecars_in(folder, self._sidecar_names, self._files), None
        except ResourceShortage as error:
            raise refusal(self.location, error.message) from error
        except SourceError as error:
            return {}, error

    def _refuse_repeated(self, suspects: frozenset[int], lookup: FileLookup) -> None:
        # Two ids may have one hash. Only their text shows it, so the rows of these are read again.
        first_lines: dict[str, tuple[str, str]] = {}
        for line in self._lines():
            if line.name is None or hash(line.name) not in suspects:
                continue
            location, _ = _located(line, lookup)
            audio = self._base.named(location) or line.where
            first_audio, first_where = first_lines.setdefault(line.name, (audio, line.where))
            if first_audio != audio:
                hides = "" if line.item_id is None else ", so one answer would hide the other"
                raise CatalogError(
                    f"{one_line(self.location)}: {first_where}, and {line.where}, have the same id "
                    f"{one_line(line.name)!r} and different audio{hides}: {HOW_TO_NAME_FILES}"
                )

    def _in_several_pairs(self) -> frozenset[int]:
        """Return the hashes of the audio, as it is written, that rows without an id name with different sidecars."""
        pairs = RepeatedIds()
        # Only a column of sidecars can give one audio several of them: other lists are not read once more for this.
        if any(columns.sidecar is not None for columns in self._headers()):
            for line in self._lines():
                if line.item_id is None and line.audio:
                    pairs.add(loose(line.audio), composed(line.sidecar or ""))
        return pairs.hashes()

    def _wanted(self) -> Iterator[str]:
        for line in self._lines():
            if line.refused is not None:
                continue
            for location in filter(None, (line.audio, line.sidecar)):
                yield from {location, location.replace("\\", "/")}

    def _headers(self) -> Iterator[Columns]:
        return chain.from_iterable(manifest.headers() for manifest in self._manifests)

    def _lines(self, note: Note | None = None) -> Iterator[_Line]:
        """Read all manifests, without their empty rows. When the bytes are noted, all that is left out is counted."""
        for manifest in self._manifests:
            facts = ListFacts(file=manifest.name)
            lines = self._lines_of(manifest, facts, note)
            yield from _with_notes_marked(lines) if manifest.may_have_notes else lines
            if note is not None and facts:
                self.lists.append(facts)

    def _lines_of(self, manifest: ManifestFile, facts: ListFacts, note: Note | None) -> Iterator[_Line]:
        folder, words, has_one_header = manifest.folder, manifest.words, manifest.has_one_header
        for number, columns, read in manifest.records(note, facts):
            joined = "".join(read)
            cells, failed = read, cells_without_value(read, joined)
            where, mistake = f"{words} {number}", None
            if failed:
                cells, joined = self._without_errors(columns, read, failed, is_counted=note is not None)
                mistake = columns.mistake_in(failed)
            if has_one_header and mistake is None and not joined.strip():
                self.ignored[Cause.EMPTY_ROWS] += note is not None
                continue
            audio, bad_audio = self._cells.located(columns.audio_in(cells), folder)
            sidecar, bad_sidecar = self._cells.located(cell_at(cells, columns.sidecar), folder)
            refused: Ineligible | None = None
            if mistake is not None:
                refused = Ineligible(Reason.CELL_ERROR, f"{where}: {mistake}")
            elif not audio:
                refused = Ineligible(Reason.MISSING_AUDIO, f"{where}: the manifest names no audio in this row.")
            elif bad_audio:
                refused = Ineligible(Reason.MISSING_AUDIO, f"{where}: {bad_audio}")
            elif sidecar and proof_id_of(audio) is not None:
                detail = f"{where}: a proof is verified by the service's own asset, and takes no sidecar."
                refused = Ineligible(Reason.MISSING_SIDECAR, detail)
            elif bad_sidecar:
                refused = Ineligible(Reason.MISSING_SIDECAR, f"{where}: {bad_sidecar}")
            item_id, name = columns.id_in(cells), columns.name_in(cells)
            yield _Line(columns, cells, where, audio, sidecar, item_id, name, refused)

    def _without_errors(
        self, columns: Columns, read: Sequence[str], failed: Mapping[int, str], *, is_counted: bool
    ) -> tuple[list[str], str]:
        """Return the cells of a row, those without a value as empty, and the text of all; count those of tags."""
        cells = [*read]
        for index, shown in failed.items():
            # Such a cell of a role refuses its row, so it is no tag that is left out.
            if index in columns.of_roles:
                cells[index] = ""
                continue
            cells[index] = value_of(shown)
            if is_counted and not cells[index]:
                cause = Cause.BINARY_CELLS if shown == BINARY else Cause.ERROR_CELLS
                self.ignored[cause] += 1
        return cells, "".join(cells)


def _with_notes_marked(lines: Iterator[_Line]) -> Iterator[_Line]:
    """Mark the last rows of a list that name no file, and the totals between other rows."""
    # Only the end of the list shows which rows are the last, so rows that may be notes wait for it.
    notes = NotesBelow()
    waiting, in_a_row = list[_Line](), 0
    for line in lines:
        is_failed = line.refused is not None and line.refused.reason == Reason.CELL_ERROR
        if not is_failed and notes.may_be_note(line.columns, line.cells):
            in_a_row += 1
        else:
            in_a_row = 0
        if 0 < in_a_row <= MOST_NOTES:
            waiting.append(line)
            continue
        # Another row follows, or too many are alike for notes: they are rows of the list, except totals.
        for earlier in waiting:
            yield earlier._replace(is_below=is_total(earlier.columns, earlier.cells))
        waiting.clear()
        yield line
    for line in waiting:
        yield line._replace(is_below=True)


def _located(line: _Line, lookup: FileLookup) -> tuple[str | None, str | None]:
    """Return the locations of audio and sidecar; of a row that is refused, what may be shown of them."""
    if line.refused is None:
        return lookup.found(line.audio), lookup.found(line.sidecar)
    return line.audio, line.sidecar


def _refused_unlisted(line: _Line, error: SourceError) -> Ineligible:
    otherwise = "If no audio has one, set catalog.columns.sidecar to 'none'."
    detail = f"{line.where}: its folder cannot be listed for sidecars. {error.message} {otherwise}"
    return Ineligible(Reason.UNREADABLE_FOLDER, detail)


def _with_known_sidecar(facts_of: FactsOf, beside: Beside) -> FactsOf:
    """Give a sidecar the facts that the listing of its folder gave, so that it is not asked for by itself."""
    if beside.facts is None:
        return facts_of
    return lambda location: beside.facts if location == beside.sidecar else facts_of(location)


def _nearest_words(audio: str | None, sidecar: str | None, findings: Findings, lookup: FileLookup) -> str:
    """Return what is there in place of a row's first file that is not there; empty if all are there."""
    if audio and findings.audio is None:
        return lookup.missing_words(audio)
    if sidecar and findings.sidecar is None:
        return lookup.missing_words(sidecar)
    return ""


class RepeatedIds:
    """Takes each id with its audio, or each audio with its sidecar, in sixteen bytes a row."""

    def __init__(self) -> None:
        self._ids, self._audio = array("q"), array("q")

    def add(self, item_id: str, audio: str) -> None:
        self._ids.append(hash(item_id))
        self._audio.append(hash(audio))

    def hashes(self) -> frozenset[int]:
        """Return the hashes of the ids that seem to have different audio."""
        # In Arrow, on the arrays themselves: dictionaries of Python would take many times the memory.
        buffers = [(pa.py_buffer(hashes), len(hashes)) for hashes in (self._ids, self._audio)]
        columns = [pa.Int64Array.from_buffers(pa.int64(), length, [None, buffer]) for buffer, length in buffers]
        # Most catalogs name each once: then Arrow need not group them, for which it imports pandas.
        if pc.count_distinct(columns[0]).as_py() == len(columns[0]):
            return frozenset()
        pairs = pa.table(columns, ["id", "audio"])
        by_id = pairs.group_by("id").aggregate([("audio", "min"), ("audio", "max")])
        is_different = pc.field("audio_min") != pc.field("audio_max")
        repeated = by_id.filter(is_different)["id"]
        return frozenset(repeated.to_numpy().tolist())
