"""Read a folder or a bucket prefix as a catalog: each audio file below it is a row, with the sidecar beside it."""

import hashlib
import posixpath
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import count
from types import MappingProxyType

from proofsweep.config.locations import path_within
from proofsweep.config.sections import USUAL_CATALOG, CatalogSettings
from proofsweep.domain.errors import CatalogError, EmptyCatalog, SourceError
from proofsweep.domain.items import FileFacts, ManifestRow, raw_bytes, utf8_text
from proofsweep.domain.reasons import Ineligible, Reason
from proofsweep.domain.tags import checksum_lists_in
from proofsweep.files.files import Files
from proofsweep.files.folder_listing import Cause, Folder, awaited_name, ignored_words, why_awaited
from proofsweep.files.presence import away_or_gone
from proofsweep.files.stand_ins import words_of_placeholder
from proofsweep.sources.catalog import Catalog, CatalogBase, SupplierFolder, findings_of, refusal
from proofsweep.sources.checksums import Checksums
from proofsweep.sources.ddex_delivery import NOTHING_NAMED, Batch, Deliveries, NamedFiles
from proofsweep.sources.ddex_message import TAG_NAMES, CompletionNames, XmlFile, xml_in
from proofsweep.sources.pairing import NOTHING_BESIDE, AwaitedFiles, Beside, FolderPairs, looked_into, why_no_audio
from proofsweep.sources.sidecars import SidecarNames

_MOST_SHOWN = 100


class FolderScan(Catalog):
    """The audio below a folder, sorted by name: a folder's own files, then its subfolders; linked folders come last.

    Folders of deliveries come after all others. After the last row their batches are known, by location, the first
    sidecars that no audio beside them has (`orphans`), and the first files that are still written, as a mark beside
    them says (`unfinished`).
    """

    kind = "folder"
    # Names those of some empty folders in which files were listed before: these are away, each with a row.
    held_before: Callable[[Sequence[str]], Sequence[str]] = staticmethod(lambda _folders: ())
    is_watched = False  # whether suppliers deliver into it: a message at its top is none of its audio's

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
        self._completion_files = CompletionNames(settings.completion_files)
        self._start_over()

    def _start_over(self) -> None:
        self.ignored = Counter(dict.fromkeys(Cause, 0))
        self.batches: Mapping[str, Batch] = {}
        self.strays: list[str] = []
        self.withdrawn: set[tuple[str, str]] = set()
        self.checksum_lists: set[str] = set()
        self.archives: list[str] = []
        self.orphans: list[str] = []
        self.unfinished: list[str] = []
        self._empty: list[str] = []
        self.deliveries = None
        self._numbers = count()
        self._listing = hashlib.sha256()
        self._walked = False

    def rows(self) -> Iterator[ManifestRow]:
        """Walk the folder and give its audio; CatalogError if it cannot be listed or, at the end, holds none."""
        self._start_over()
        is_empty = True
        try:
            with closing(Checksums(self._base, self._source, self.ignored)) as self._checksums:
                self._checksums.read_named(self._lists)
                for walked in self._walked_rows():
                    is_empty = False
                    row = self._checksums.with_declared(walked)
                    self._listing.update(self._listed(row))
                    tags = self._supplier.tags_of(row.named_audio, row.tags)
                    if tags:
                        row = replace(row, tags={**row.tags, **tags})
                    yield row
                self.checksum_lists = self._checksums.versions
        except SourceError as error:
            raise refusal(self._path, f"cannot be listed. {error.message}") from error
        if not is_empty:
            yield from self._rows_away()
            self._refuse_if_gone()
        elif not self.is_watched:
            raise self._no_audio()
        self._walked = True

    def _no_audio(self) -> CatalogError:
        why = ", and nothing else"
        if self.deliveries is not None:
            why = f": {self.deliveries} without audio"
        elif self.ignored.total():
            why = f"; ignored: {ignored_words(self.ignored)}"
        return refusal(self._path, f"no audio in this folder{why}", EmptyCatalog)

    def _refuse_if_gone(self) -> None:
        # Of a folder that is away by now, some files may not have been listed.
        if self.is_watched:
            return
        away = away_or_gone(self._path)
        if away is not None:
            raise refusal(self._path, f"went away while it was listed: {away.why}")

    def _rows_away(self) -> Iterator[ManifestRow]:
        """Yield a row for each empty folder that held files before; it makes no other listing."""
        empty_folders = list(dict.fromkeys(self._empty))
        for folder in self.held_before(empty_folders):
            refused = Ineligible(Reason.UNREADABLE_FOLDER, "The folder is empty, and files were listed in it before.")
            yield self._row_of_folder(folder, refused)

    def tag_names(self) -> list[str]:
        """Return the names of all tags; before the first walk, XML files are looked at for those of deliveries."""
        has_deliveries = self.deliveries is not None
        if not self._walked:
            try:
                has_deliveries = any(file.is_message for _, xml in self._folders() for file in xml)
            except SourceError as error:
                raise refusal(self._path, f"cannot be listed. {error.message}") from error
        return self._supplier.among(TAG_NAMES if has_deliveries else ())

    def digest(self) -> str:
        """Give the hex SHA-256 of the rows' names, sizes and times as last walked; walk first if that was not done."""
        if not self._walked:
            deque(self.rows(), maxlen=0)
        return self._listing.hexdigest()

    def rows_in(self, folder: Folder, named: NamedFiles = NOTHING_NAMED) -> Iterator[ManifestRow]:
        """Yield the audio of one folder, and count what is ignored; what messages name as such is audio."""
        if folder.refused is not None:
            yield self._row_of_folder(folder.location, folder.refused)
        self.ignored[Cause.REPEATED_FOLDERS] += folder.is_repeated
        audio: list[str] = []
        lists: list[str] = []
        for name, cause in self._judged(folder, named):
            if cause is None:
                audio.append(name)
            elif cause is Cause.CHECKSUM_LISTS:
                lists.append(name)
            else:
                self.ignored[cause] += 1
                if cause is Cause.ARCHIVES:
                    _show(self.archives, folder, [name])
        self._checksums.read_folder(folder.location, lists, folder.files)
        awaited = AwaitedFiles(folder.left_out)
        # What a message names has a row by that, also if it is not there.
        placeholders = awaited.audio_not_downloaded(folder.files) if named is NOTHING_NAMED else {}
        audio.extend(placeholders)
        pairs = FolderPairs(
            folder.location,
            audio,
            filter(self._sidecar_names.covers, folder.files),
            awaited,
            patterns=self._sidecar_names,
            source=self._source,
        )
        known = folder.known or dict.fromkeys(folder.files)
        for name in audio:
            beside = pairs.beside(name, known)
            if name in placeholders:
                refused = Ineligible(Reason.STAND_IN, words_of_placeholder(placeholders[name]))
                beside = replace(beside, refused=refused)
            location = posixpath.join(folder.location, name)
            yield self.row_at(location, beside, folder.known)
        self.ignored[Cause.NOT_DOWNLOADED] -= len(placeholders)
        self._count_left_out(folder, pairs.orphans)

    def _count_left_out(self, folder: Folder, orphans: Sequence[str]) -> None:
        for cause, names in folder.left_out.items():
            self.ignored[cause] += len(names)
        self.ignored[Cause.ORPHAN_SIDECARS] += len(orphans)
        _show(self.orphans, folder, orphans)
        unfinished = folder.left_out.get(Cause.UNFINISHED, ())
        files = {*folder.files, *unfinished}
        # A mark that lies beside its file says something of this file; one that is left alone waits by itself.
        alone = [name for name in unfinished if why_awaited(name) is None or awaited_name(name) not in files]
        _show(self.unfinished, folder, alone)

    def _row_of_folder(self, folder: str, refused: Ineligible) -> ManifestRow:
        """Return the row that stands for all files in a folder."""
        path = posixpath.join(folder, "")
        name = posixpath.join(self._base.named(path), "")
        return ManifestRow(number=next(self._numbers), audio=path, named_audio=name, refused=refused)

    def _judged(self, folder: Folder, named: NamedFiles) -> Iterator[tuple[str, Cause | None]]:
        """Yield the files of a folder that are no sidecars, each with why it is no audio."""
        names = [name for name in folder.files if not self._sidecar_names.covers(name)]

        def look(name: str) -> Cause | None:
            path = posixpath.join(folder.location, name)
            # What a message names as audio is audio, whatever its name says.
            if named.is_row(path):
                return None
            return why_no_audio(path, self._source, folder.known.get(name))

        return zip(names, looked_into(folder.location, names, look), strict=True)

    def row_at(
        self,
        location: str,
        beside: Beside = NOTHING_BESIDE,
        known: Mapping[str, FileFacts] = MappingProxyType({}),
    ) -> ManifestRow:
        def facts_of(path: str) -> FileFacts | None:
            return known.get(posixpath.basename(path)) or self._source.facts(path)

        findings = findings_of(location, beside.sidecar, facts_of, beside.refused)
        return ManifestRow(
            number=next(self._numbers),
            audio=location,
            sidecar=beside.sidecar,
            named_audio=self._base.named(location),
            named_sidecar=self._base.named(beside.sidecar),
            audio_facts=findings.audio,
            sidecar_facts=findings.sidecar,
            refused=findings.refused,
            contested_sidecar=beside.contested,
        )

    def has_no_row(self, location: str) -> bool:
        """Whether a file is no row even if a message names it: a sidecar, or one that a person excludes."""
        return self._sidecar_names.covers(posixpath.basename(location)) or self._is_excluded(location)

    def _is_excluded(self, location: str) -> bool:
        return self._source.rule.is_excluded(path_within(location, self._path))

    def _walked_rows(self) -> Iterator[ManifestRow]:
        deliveries = Deliveries(self._path, self._source, self._completion_files, is_watched=self.is_watched)
        for folder, xml in self._folders():
            left, messages = deliveries.take(folder, xml)
            for message in messages:
                name = path_within(message.location, self._path)
                self._listing.update(_joined(name, message.facts.version))
            if left is not None:
                self.ignored[Cause.NOT_AUDIO] += len(folder.files) - len(left.files)
                yield from self.rows_in(left)
        if deliveries.are_there:
            self.deliveries = deliveries.counts
            yield from deliveries.rows(self.rows_in, self.row_at, self.has_no_row)
            self.batches, self.strays = deliveries.batches, deliveries.strays
            self.withdrawn = deliveries.withdrawn
        # `rows` marks what the lists say of each row above before it asks for the next one.
        for line in self._checksums.unmet():
            if self._is_excluded(line.location):
                self.ignored[Cause.EXCLUDED] += 1
                continue
            row = self.row_at(line.location)
            refused = row.refused or Ineligible(Reason.MISSING_AUDIO, line.detail)
            yield replace(row, refused=refused)

    def _folders(self) -> Iterator[tuple[Folder, list[XmlFile]]]:
        """Walk the folders, each with its XML files; those of a bucket are read side by side."""

        def look(folder: Folder) -> tuple[Folder, list[XmlFile]]:
            if folder.is_empty:
                self._empty.append(folder.location)
            return folder, list(xml_in(folder, self._source, self._completion_files))

        return looked_into(self._path, self._source.walk(self._path), look)

    def _listed(self, row: ManifestRow) -> bytes:
        """Join a row's names, sizes and times so that different listings give different bytes, whatever the root is."""
        audio = path_within(row.audio or "", self._path)
        sidecar = path_within(row.sidecar or "", self._path) or row.contested_sidecar or ""
        return _joined(audio, sidecar, row.audio_version or "", row.sidecar_version or "")


def _joined(*texts: str) -> bytes:
    return b"\0".join(map(raw_bytes, texts)) + b"\0\0"


def _show(shown: list[str], folder: Folder, names: Sequence[str]) -> None:
    """Add the first of some files to those that a person is shown."""
    first = names[: _MOST_SHOWN - len(shown)]
    shown += [posixpath.join(folder.location, name) for name in first]
