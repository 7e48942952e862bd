"""Read a folder or a bucket prefix as a catalog: each audio file below it is a row, with the sidecar beside it."""

import hashlib
import posixpath
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from functools import partial
from itertools import count
from types import MappingProxyType

from proofsweep.config.locations import path_within
from proofsweep.config.sections import USUAL_CATALOG, CatalogSettings
from proofsweep.domain.errors import EmptyCatalog, ResourceShortage, SourceError
from proofsweep.domain.items import FileFacts, ManifestRow, raw_bytes, utf8_text
from proofsweep.domain.reasons import Reason
from proofsweep.domain.tags import checksum_lists_in
from proofsweep.sources.audio import is_audio, open_audio
from proofsweep.sources.catalog import Catalog, CatalogBase, SupplierFolder, refusal, with_facts
from proofsweep.sources.checksums import Checksums, is_list_name
from proofsweep.sources.ddex_delivery import NOTHING_NAMED, Batch, Deliveries, NamedFiles
from proofsweep.sources.ddex_message import TAG_NAMES, xml_in
from proofsweep.sources.files import Files, refuse_unavailable
from proofsweep.sources.names import Cause, SidecarNames, Sidecars, ignored_words, is_audio_name
from proofsweep.sources.source import Folder


class FolderScan(Catalog):
    """The audio below a folder, sorted by name: a folder's own files, then its subfolders; linked folders come last.

    Folders of deliveries come after all others. After the last row their batches are known, by location, and the first
    sidecars that no audio beside them has (`orphans`).
    """

    kind = "folder"

    def __init__(
        self,
        path: str,
        source: Files,
        settings: CatalogSettings = USUAL_CATALOG,
        base: CatalogBase | None = None,
    ) -> None:
        self._base = base or CatalogBase(path)
        self.name, self.root = self._base.name, self._base.boundary
        self.location = utf8_text(path)
        self._path = path
        self._source = source
        self._sidecar_names = SidecarNames(settings.sidecar_names)
        self._supplier = SupplierFolder(settings.supplier_from)
        self._lists = checksum_lists_in(settings.checksums)
        self._start_over()

    def _start_over(self) -> None:
        self.ignored = Counter(dict.fromkeys(Cause, 0))
        self.batches: Mapping[str, Batch] = {}
        self.orphans: list[str] = []
        self.deliveries = None
        self._numbers, self._listing, self._walked = count(), hashlib.sha256(), False

    def rows(self) -> Iterator[ManifestRow]:
        """Walk the folder and give its audio; CatalogError if it cannot be listed or, at the end, holds none."""
        self._start_over()
        is_empty = True
        try:
            with closing(Checksums(self._base, self._source, self.ignored)) as self._checksums:
                self._checksums.read_named(self._lists)
                for found in self._walked_rows():
                    is_empty = False
                    row = self._checksums.with_declared(found)
                    self._listing.update(self._listed(row))
                    tags = self._supplier.tags_of(row.named_audio, row.tags)
                    yield replace(row, tags={**row.tags, **tags}) if tags else row
        except SourceError as error:
            raise refusal(self._path, f"cannot be listed. {error.message}") from error
        if is_empty:
            ignored = f"; ignored: {ignored_words(self.ignored)}" if self.ignored.total() else ", and nothing else"
            raise refusal(self._path, f"no audio in this folder{ignored}", EmptyCatalog)
        self._walked = True

    def tag_names(self) -> list[str]:
        """Return the names of all tags; before the first walk, XML files are looked at for those of deliveries."""
        if self._walked:
            are_there = self.deliveries is not None
        else:
            xml = (each for folder in self._source.walk(self._path) for each in xml_in(folder, self._source))
            try:
                are_there = any(each.is_message for each in xml)
            except SourceError as error:
                raise refusal(self._path, f"cannot be listed. {error.message}") from error
        return self._supplier.among(TAG_NAMES if are_there else ())

    def digest(self) -> str:
        """Give the hex SHA-256 of the rows' names, sizes and times as last walked; walk first if that was not done."""
        if not self._walked:
            deque(self.rows(), maxlen=0)
        return self._listing.hexdigest()

    def rows_in(self, folder: Folder, named: NamedFiles = NOTHING_NAMED) -> Iterator[ManifestRow]:
        """Yield the audio of one folder, and count what is ignored; messages may name files that are audio, or none."""
        if folder.refused is not None:
            path = posixpath.join(folder.location, "")
            name = posixpath.join(self._base.named(path), "")
            yield ManifestRow(number=next(self._numbers), audio=path, named_audio=name, refused=folder.refused)
        self.ignored[Cause.REPEATED_FOLDERS] += folder.is_repeated
        is_sidecar = self._sidecar_names.covers
        audio: list[str] = []
        lists: list[str] = []
        for name in folder.files:
            path = posixpath.join(folder.location, name)
            if is_sidecar(name):
                continue
            cause = named.no_rows.get(path)  # what messages say goes first
            if cause is None and path not in named.here:
                cause = why_no_audio(path, self._source)
            if cause is None:
                audio.append(name)
            elif cause is Cause.CHECKSUM_LISTS:
                lists.append(name)
            else:
                self.ignored[cause] += 1
        self._checksums.read_folder(folder.location, lists, folder.files)
        found = filter(is_sidecar, folder.files)
        may_need = partial(needs_sidecar, self._source, folder.location)
        sidecars = Sidecars(self._sidecar_names, found, audio, may_need)
        for name in audio:
            path, sidecar = posixpath.join(folder.location, name), sidecars.of_audio.get(name)
            beside = None if sidecar is None else posixpath.join(folder.location, sidecar)
            yield self.row_at(path, beside, sidecars.contested.get(name), folder.known)
        for why, names in folder.left_out.items():
            self.ignored[why] += len(names)
        self.ignored[Cause.ORPHAN_SIDECARS] += len(sidecars.orphans)
        shown = sidecars.orphans[: 100 - len(self.orphans)]
        self.orphans += [posixpath.join(folder.location, name) for name in shown]

    def row_at(
        self,
        location: str,
        sidecar: str | None = None,
        contested: str | None = None,
        known: Mapping[str, FileFacts] = MappingProxyType({}),
    ) -> ManifestRow:
        row = ManifestRow(number=next(self._numbers), audio=location, sidecar=sidecar, contested_sidecar=contested)
        return with_facts(row, lambda path: known.get(posixpath.basename(path)) or self._source.facts(path), self._base)

    def has_no_row(self, location: str) -> bool:
        """Whether a file is no row even if a message names it: a sidecar, or one that is excluded."""
        is_sidecar = self._sidecar_names.covers(posixpath.basename(location))
        return is_sidecar or self._source.rule.is_excluded(path_within(location, self._path))

    def _walked_rows(self) -> Iterator[ManifestRow]:
        deliveries = Deliveries(self._path, self._source)
        for folder in self._source.walk(self._path):
            left, messages = deliveries.take(folder)
            for message in messages:
                named = path_within(message.location, self._path), message.facts.version
                self._listing.update(b"\0".join(map(raw_bytes, named)) + b"\0\0")
            if left is not None:
                self.ignored[Cause.NOT_AUDIO] += len(folder.files) - len(left.files)
                yield from self.rows_in(left)
        if deliveries.are_there:
            self.deliveries = deliveries.counts
            yield from deliveries.rows(self.rows_in, self.row_at, self.has_no_row)
            self.batches = deliveries.batches

    def _listed(self, row: ManifestRow) -> bytes:
        """Join a row's names, sizes and times so that different listings give different bytes, whatever the root is."""
        audio, sidecar = (path_within(each or "", self._path) for each in (row.audio, row.sidecar))
        facts = (audio, sidecar or row.contested_sidecar or "", row.audio_version or "", row.sidecar_version or "")
        return b"\0".join(map(raw_bytes, facts)) + b"\0\0"


def why_no_audio(path: str, source: Files) -> Cause | None:
    """Judge by the name's ending; if that is not audio's, read the content."""
    if is_audio_name(path):
        return None
    if is_list_name(posixpath.basename(path)):
        return Cause.CHECKSUM_LISTS
    try:
        file = source.open(path)
        if file is None:
            return Cause.UNREADABLE
        with file:
            return None if is_audio(file) else Cause.NOT_AUDIO
    except ResourceShortage:
        raise
    except SourceError:
        return Cause.UNREADABLE


def needs_sidecar(source: Files, folder: str, name: str) -> bool:
    """Look into a file that shares a sidecar's name with others; one that cannot be read may need it."""
    location = posixpath.join(folder, name)
    try:
        with open_audio(location, source) as audio:
            return audio.needs_sidecar()
    except SourceError as error:
        refuse_unavailable(error, location)
        return error.reason != Reason.OUTSIDE_CATALOG


def sidecars_in(folder: str, names: SidecarNames, files: Files) -> Mapping[str, tuple[str, FileFacts | None]]:
    """Return the one sidecar of each audio file in a folder with what its listing says, by the audio's location."""
    known = files.in_folder(folder) if names.patterns and folder else {}
    sidecars = Sidecars(
        names,
        filter(names.covers, known),
        (
            name
            for name in known
            if not names.covers(name) and why_no_audio(posixpath.join(folder, name), files) is None
        ),
        partial(needs_sidecar, files, folder),
    )
    paired = ((posixpath.join(folder, audio), sidecar) for audio, sidecar in sidecars.of_audio.items())
    return {audio: (posixpath.join(folder, sidecar), known[sidecar]) for audio, sidecar in paired}
