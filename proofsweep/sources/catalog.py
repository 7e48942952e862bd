"""What every kind of catalog is: rows that can be read again, a name and a digest; and its rows with their facts."""

import os
import posixpath
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from typing import NamedTuple

from proofsweep.config.locations import one_line, path_within, resolved_location
from proofsweep.domain.errors import CatalogError, SourceError
from proofsweep.domain.items import FileFacts, ManifestRow, Unlisted, utf8_text
from proofsweep.domain.reasons import Ineligible, Reason
from proofsweep.domain.tags import SUPPLIER_TAG, tag_named
from proofsweep.files.files import kind_of
from proofsweep.files.folder_listing import FOLDERS_KEPT, Cause

FactsOf = Callable[[str], FileFacts | Unlisted | None]
"""Gives what is known of the file at a location; None if there is no file, SourceError if that cannot be found out."""


@dataclass(slots=True, kw_only=True)
class DeliveryCounts:
    batches: int = 0
    releases: int = 0
    files: int = 0  # that messages name as audio of recordings
    missing: int = 0  # named files, and messages that a manifest names, that are not there
    unnamed: int = 0  # audio of releases that no message names
    unreadable: int = 0

    def __str__(self) -> str:
        counted = {name: count for name, count in asdict(self).items() if count}
        return ", ".join(f"{count:,} {name}" for name, count in counted.items())


@dataclass(slots=True, kw_only=True)
class ListFacts:
    """What a person may not expect of how a list is read; complete after its last row."""

    file: str
    header: str | None = None  # the row that is taken for it, if another one with text stands above
    hidden_rows: int = 0  # of a sheet; they are rows like others
    hidden_columns: list[str] = field(default_factory=list)  # the names of those that have one; they are read, too
    other_sheets: list[str] = field(default_factory=list)  # those with cells that are not read

    def __bool__(self) -> bool:
        return bool(self.header or self.hidden_rows or self.hidden_columns or self.other_sheets)


def refusal(path: str, because: str, kind: type[CatalogError] = CatalogError) -> CatalogError:
    """Return the error of a catalog that cannot be read, or holds nothing, and may be there another day."""
    return kind(f"{one_line(path)}: {because}", catalog=utf8_text(path))


class Catalog(ABC):
    """A list of audio, streamed; its counts are complete after the last row."""

    name: str  # stands for the catalog in item IDs, the same on every machine
    root: str | None  # the folder or prefix that its files must not lie outside of; None if they may lie anywhere
    location: str  # absolute, printable
    kind: str  # `manifest` or `folder`
    ignored: Counter[Cause]  # entries that gave no row
    skipped = 0  # rows that are left out
    deliveries: DeliveryCounts | None = None  # what a scan found of them; None if there is none
    encodings: Sequence[str] = ()  # of its manifests of text, for a person: each that occurs
    columns: Sequence[tuple[str, str]] = ()  # of its first manifest, each with its role, its algorithm, or `tag`
    lists: Sequence[ListFacts] = ()  # of its manifests, if there is anything to say

    @property
    def whole(self) -> "Catalog":
        """Return the catalog of which this is a part, and which knows how it is read."""
        return self

    @abstractmethod
    def rows(self) -> Iterator[ManifestRow]:
        """Return the rows from the first, at each call; CatalogError if there is none or reading fails."""

    @abstractmethod
    def tag_names(self) -> list[str]:
        """Return the names of the tags that rows may have; CatalogError if reading fails."""

    def files_beside(self) -> Iterator[str]:
        """Yield the audio of this machine that lies beside the files of a list and is not named, after its last row."""
        return iter(())

    @abstractmethod
    def digest(self) -> str:
        """Return a hex SHA-256 that changes when the catalog does: its manifests' bytes, or its folder's listing."""


class PartOfCatalog(Catalog):
    """Some rows of a catalog, which bear its name; by default all of them."""

    def __init__(self, whole: Catalog) -> None:
        self.name, self.kind = whole.name, whole.kind
        self.location, self.root = whole.location, whole.root
        self.ignored = whole.ignored
        self._whole = whole

    @property
    def whole(self) -> Catalog:
        return self._whole.whole

    def rows(self) -> Iterator[ManifestRow]:
        return self._whole.rows()

    def tag_names(self) -> list[str]:
        return self._whole.tag_names()

    def files_beside(self) -> Iterator[str]:
        return self._whole.files_beside()

    def digest(self) -> str:
        """Return the whole catalog's digest: a choice of rows makes no other catalog of it."""
        return self._whole.digest()


class CatalogBase:
    """The folder or prefix of a catalog, and the root, without links in its path, by which its files are named."""

    def __init__(
        self, folder: str, *, root: str | None = None, name: str | None = None, is_confined: bool = True
    ) -> None:
        """Take a catalog's folder as it was written; by default that is the root, and the root's last part the name."""
        self.root = resolved_location(folder if root is None else root)
        self.boundary = self.root if is_confined else None  # what lies outside must not be named
        self.name = utf8_text(name or posixpath.basename(self.root) or self.root)
        self._real_folder: Callable[[str], str] = lru_cache(FOLDERS_KEPT)(os.path.realpath)
        self._beginning: Callable[[str], str] = lru_cache(FOLDERS_KEPT)(self._beginning_of_names)
        self._written = posixpath.join(folder, "")
        self._resolved = posixpath.join(self._real(folder), "")

    def named(self, location: str | None) -> str:
        """Name a file relative to the root; absolute if it lies outside it."""
        if not location:
            return ""
        folder, _, name = location.rpartition("/")
        if name in {"", ".", ".."} or not location.startswith("/"):
            return self._named(location)
        return self._beginning(folder) + name

    def _beginning_of_names(self, folder: str) -> str:
        """Return how the names of all files in a folder begin: a million files lie in few."""
        return self._named(f"{folder}/-").removesuffix("-")

    def _named(self, location: str) -> str:
        if not location.startswith("/"):  # a URL
            return path_within(location, self.root)
        # A link in the folder keeps its own name, however the catalog was spelled.
        if location.startswith(self._written):
            rest = location[len(self._written) :]
            name = self._relative(self._resolved + rest)
            if not name.startswith("/"):
                return name
        folder, name = posixpath.split(location)
        return self._relative(posixpath.join(self._real(folder), name))

    def without_dots(self, location: str) -> str:
        """Return a location without `..`: after a link, only the system knows what that means."""
        if ".." not in location or ".." not in location.split("/") or not kind_of(location).has_folders:
            return location
        folder, name = posixpath.split(location)
        return posixpath.normpath(posixpath.join(self._real(folder), name))

    def _relative(self, path: str) -> str:
        return path_within(posixpath.normpath(path), self.root)

    def _real(self, folder: str) -> str:
        try:
            return self._real_folder(folder)
        except ValueError:  # no folder can have such a name
            return folder


@dataclass(frozen=True, slots=True)
class SupplierFolder:
    """Which folder of a file is its supplier."""

    number: int | None = None  # as seen from the root, counted from 1; None for no folder

    def tags_of(self, named_audio: str, known: Iterable[str] = ()) -> Mapping[str, str]:
        """Return the supplier of a file as a tag, by its name as seen from the root.

        There is none if the file lies outside the root or less deep, or if a column `known` is that tag, in any case.
        """
        if self.number is None:
            return {}
        is_outside = named_audio.startswith("/") or "://" in named_audio
        *folders, _ = named_audio.split("/")
        if is_outside or len(folders) < self.number or tag_named(SUPPLIER_TAG, known) is not None:
            return {}
        return {SUPPLIER_TAG: folders[self.number - 1]}

    def among(self, tag_names: Iterable[str]) -> list[str]:
        names = [*tag_names]
        if self.number is not None and tag_named(SUPPLIER_TAG, names) is None:
            names.append(SUPPLIER_TAG)
        return names


class Findings(NamedTuple):
    """What is known of the files of a row."""

    audio: FileFacts | Unlisted | None = None
    sidecar: FileFacts | Unlisted | None = None
    refused: Ineligible | None = None  # why the row is not sent


def findings_of(
    audio: str | None, sidecar: str | None, facts_of: FactsOf, refused: Ineligible | None = None, where: str = ""
) -> Findings:
    """Ask for the facts of a row's files; of a row that is `refused` already, nothing is asked."""
    if refused is not None:
        return Findings(refused=refused)
    audio_facts, unusable = _asked(audio, "audio", facts_of, where)
    if sidecar is None:
        return Findings(audio_facts, None, unusable)
    sidecar_facts, unusable_sidecar = _asked(sidecar, "sidecar", facts_of, where)
    return Findings(audio_facts, sidecar_facts, unusable or unusable_sidecar)


def _asked(
    location: str | None, role: str, facts_of: FactsOf, where: str
) -> tuple[FileFacts | Unlisted | None, Ineligible | None]:
    if location is None:
        return None, None
    try:
        return facts_of(location), None
    except SourceError as error:
        words = f"{where}, {role}" if where else f"Of the {role}"
        return None, Ineligible(Reason(error.reason), f"{words}: {error.message}")
