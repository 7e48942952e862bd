"""A folder or a bucket's prefix as a catalog: every audio file below is a row, paired with the sidecar beside it."""

import hashlib
import posixpath
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import count

from proofsweep.domain.formats import AudioFormat
from proofsweep.domain.items import FileFacts, ManifestRow, Unlisted, printable, raw_bytes
from proofsweep.domain.pairing import SidecarNames, Sidecars
from proofsweep.errors import CatalogError, SourceError
from proofsweep.storage.catalog.ignored import Cause, Ignored
from proofsweep.storage.catalog.row_facts import row_with_facts
from proofsweep.storage.files.audio import sniff
from proofsweep.storage.files.source import Folder, Source
from proofsweep.storage.locations import one_line, path_within

_PCM = {".wav", ".wave", ".bwf", ".rf64", ".bw64", ".w64", ".aif", ".aiff", ".aifc", ".afc", ".caf", ".au", ".snd"}
_CODED = {".mp3", ".m4a", ".m4b", ".mp4", ".flac", ".ogg", ".oga", ".opus", ".mp2", ".aac", ".alac", ".wma", ".ape"}
_AUDIO_EXTENSIONS = frozenset(_PCM | _CODED)


class FolderScan:
    """The audio below a folder, in an order that names alone decide: a folder's own files, then its subfolders."""

    kind = "folder"

    def __init__(self, path: str, source: Source, sidecar_names: SidecarNames) -> None:
        self.name = printable(posixpath.basename(path))
        self.location = printable(path)
        self.ignored = Ignored()
        self._path = path
        self._source = source
        self._sidecar_names = sidecar_names
        self._listing = hashlib.sha256()
        self._walked = False

    def rows(self) -> Iterator[ManifestRow]:
        """Walk the folder and give its audio; `ignored` is true once all of it was taken.

        Raises:
            CatalogError: it cannot be listed; or at the end, when there was no audio at all.
        """
        self.ignored, self._listing, self._walked = Ignored(), hashlib.sha256(), False
        numbers = count()
        try:
            for folder in self._source.walk(self._path):
                for row in self._rows_in(folder, numbers):
                    self._listing.update(_listed(row))
                    yield row
        except SourceError as error:
            raise CatalogError(f"{one_line(self._path)}: cannot be listed. {error.message}") from error
        if next(numbers) == 0:
            raise CatalogError(f"{one_line(self._path)}: no audio in this folder; ignored: {self.ignored}")
        self._walked = True

    def digest(self) -> str:
        """Give the hex SHA-256 of names, sizes and times of the rows as last walked; walks when that has to be done."""
        if not self._walked:
            deque(self.rows(), maxlen=0)
        return self._listing.hexdigest()

    def _rows_in(self, folder: Folder, numbers: Iterator[int]) -> Iterator[ManifestRow]:
        is_sidecar = self._sidecar_names.covers
        sidecars = Sidecars(self._sidecar_names, filter(is_sidecar, folder.files))
        for name in folder.files:
            if is_sidecar(name):
                continue
            path = posixpath.join(folder.location, name)
            cause = self._why_no_row(path)
            if cause is None:
                yield self._row(next(numbers), folder, name, sidecars.claim(name))
            else:
                self._note(cause, folder, [name])
        self._note(Cause.NOT_AUDIO, folder, folder.hidden)
        self._note(Cause.ORPHAN_SIDECARS, folder, sidecars.orphans())
        self._note(Cause.UNREADABLE, folder, folder.unreadable)

    def _why_no_row(self, path: str) -> Cause | None:
        """Go by the name; where that says nothing, look inside."""
        if is_audio_name(path):
            return None
        try:
            file = self._source.open(path)
            if file is None:
                return Cause.UNREADABLE
            with file:
                return Cause.NOT_AUDIO if sniff(file) is AudioFormat.UNKNOWN else None
        except SourceError:
            return Cause.UNREADABLE

    def _row(self, number: int, folder: Folder, name: str, sidecar_name: str | None) -> ManifestRow:
        def facts_of(path: str) -> FileFacts | None:
            return folder.known.get(posixpath.basename(path)) or self._source.facts(path)

        audio = posixpath.join(folder.location, name)
        sidecar = None if sidecar_name is None else posixpath.join(folder.location, sidecar_name)
        return row_with_facts(facts_of, self._path, number=number, audio=audio, sidecar=sidecar)

    def _note(self, cause: Cause, folder: Folder, names: Iterable[str]) -> None:
        for name in names:
            path = folder.location if name == "." else posixpath.join(folder.location, name)
            self.ignored.note(cause, one_line(path_within(path, self._path)))


def is_audio_name(path: str) -> bool:
    """Say whether the name's extension says audio."""
    return posixpath.splitext(path)[1].lower() in _AUDIO_EXTENSIONS


def _listed(row: ManifestRow) -> bytes:
    """Spell a row's names, sizes and times so that no two listings spell alike."""
    facts = (row.named_audio, row.named_sidecar, _version(row.audio_facts), _version(row.sidecar_facts))
    return b"\0".join(map(raw_bytes, facts)) + b"\0\0"


def _version(facts: FileFacts | Unlisted | None) -> str:
    return facts.version if isinstance(facts, FileFacts) else ""
