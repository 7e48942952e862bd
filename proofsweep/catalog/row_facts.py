"""Make a catalog's row of two locations, with what is known of the files before they are opened."""

import os
import posixpath
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType

from proofsweep.errors import SourceError
from proofsweep.files.locations import path_within, resolved_location
from proofsweep.model.items import FileFacts, ManifestRow, Unlisted, printable
from proofsweep.model.reasons import Ineligible, Reason

# chosen: folders whose path without links is remembered; at half, rows that jump between folders are resolved more
# often, and twice only takes more memory.
_FOLDERS_KEPT = 1_024


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The folder or prefix of a catalog, and the root by which its files are named.

    Attributes:
        folder: absolute, as it was written; relative locations begin here.
        root: the folder or prefix to which names are relative, without links in its path.
        is_confined: whether the catalog may name only what lies in the root.
        name: stands for the catalog in item IDs.
    """

    folder: str
    root: str
    is_confined: bool
    name: str
    _real_folder: Callable[[str], str] = field(
        default_factory=lambda: lru_cache(_FOLDERS_KEPT)(os.path.realpath), compare=False
    )

    @classmethod
    def of(
        cls,
        folder: str,
        *,
        root: str | None = None,
        name: str | None = None,
        is_confined: bool = True,
    ) -> "Place":
        """Describe the catalog of a folder; by default that is the root, and the root's last part the name."""
        resolved = resolved_location(folder if root is None else root)
        return cls(
            folder=folder,
            root=resolved,
            is_confined=is_confined,
            name=printable(name or posixpath.basename(resolved) or resolved),
        )

    @property
    def boundary(self) -> str | None:
        """The root, if the catalog's files must lie in it."""
        return self.root if self.is_confined else None

    def named(self, location: str | None) -> str:
        """Name a file relative to the root; absolute if it lies outside it."""
        if not location or not location.startswith("/"):  # a URL
            return path_within(location or "", self.root)
        base = posixpath.join(self.folder, "")
        if location.startswith(base):  # a link in the catalog keeps its own name, however the catalog was spelled
            name = self._relative(posixpath.join(self._real(self.folder), location[len(base) :]))
            if not name.startswith("/"):
                return name
        folder, name = posixpath.split(location)
        return self._relative(posixpath.join(self._real(folder), name))

    def _relative(self, path: str) -> str:
        return path_within(posixpath.normpath(path), self.root)

    def _real(self, folder: str) -> str:
        with suppress(ValueError):  # no folder can have such a name
            return self._real_folder(folder)
        return folder


FactsOf = Callable[[str], FileFacts | Unlisted | None]
"""Gives what is known of the file at a location; None if there is no file, SourceError if that cannot be found out."""

_NO_TAGS: Mapping[str, str] = MappingProxyType({})


def row_with_facts(
    facts_of: FactsOf,
    place: Place,
    *,
    number: int,
    audio: str | None,
    sidecar: str | None,
    item_id: str | None = None,
    tags: Mapping[str, str] = _NO_TAGS,
    contested_sidecar: str | None = None,
    refused: Ineligible | None = None,
    where: str = "",
) -> ManifestRow:
    """Make a row with the facts of its files, named as the catalog's place has it; `where` goes before what is wrong.

    Of a row that is `refused` already, nothing is asked.
    """
    audio_facts, audio_refused = _facts(facts_of, None if refused else audio, where, Reason.MISSING_AUDIO)
    sidecar_facts, sidecar_refused = _facts(facts_of, None if refused else sidecar, where, Reason.MISSING_SIDECAR)
    return ManifestRow(
        number=number,
        audio=audio,
        sidecar=sidecar,
        named_audio=place.named(audio),
        named_sidecar=place.named(sidecar),
        item_id=item_id,
        tags=tags,
        audio_facts=audio_facts,
        sidecar_facts=sidecar_facts,
        refused=refused or audio_refused or sidecar_refused,
        contested_sidecar=contested_sidecar,
    )


def _facts(
    facts_of: FactsOf, location: str | None, where: str, missing: Reason
) -> tuple[FileFacts | Unlisted | None, Ineligible | None]:
    if location is None:
        return None, None
    try:
        return facts_of(location), None
    except SourceError as error:
        role = "audio" if missing is Reason.MISSING_AUDIO else "sidecar"
        words = f"{where}, {role}" if where else f"Of the {role}"
        reason = missing if error.reason == Reason.MISSING_AUDIO else Reason(error.reason)
        return None, Ineligible(reason, f"{words}: {error.message}")
