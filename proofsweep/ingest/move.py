"""A move of files that belong together, as passes note it before they copy anything."""

import posixpath
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

from proofsweep.domain.items import WorkItem
from proofsweep.domain.reasons import HINDERS_NOTHING
from proofsweep.domain.tags import tags_of
from proofsweep.ingest.deliveries import nearest_folder
from proofsweep.ingest.rules import Disposition, PastAnswer


@dataclass(frozen=True, slots=True, kw_only=True)
class FileMove:
    source: str
    target: str
    sha256: str  # of its bytes, in hex; a file with others is not moved
    version: str = ""  # of a delivery's file, as the scan listed it
    owns: bool = True  # whether the name was free, so that what is there later is a copy of this move


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """Files that belong together, with the names that were chosen for all of them before anything was copied.

    The last file is the sign that the others are there: it is copied last and removed first. That is the audio of a
    pair; of a batch the completion file, else a message.
    """

    files: tuple[FileMove, ...]
    items: tuple[tuple[WorkItem, PastAnswer], ...]
    disposition: Disposition  # of all items, after the move
    folder: str | None = None  # the folder of a delivery that moves as a whole; None for the files of one item
    # The folders of deliveries and releases in that folder, or it itself, each with whether its files move.
    folders: Mapping[str, bool] = field(default_factory=dict, hash=False)
    delivered_in: str | None = None  # where that folder was delivered, if it lies in quarantine
    is_copied: bool = False  # of a delivery: whether all was copied once, so that files of it may be removed
    mount: str = ""  # the mount point above its names when these were chosen; empty of a bucket
    part: str = ""  # takes its rows, or one of the next ones of its leg; empty if its leg has rows of all files

    @property
    def is_held(self) -> bool:
        """Whether it takes accepted files into quarantine."""
        if self.folder is None or self.disposition is not Disposition.QUARANTINED:
            return False
        return any(answer.outcome == "accepted" for _, answer in self.items)

    def is_of(self, releases: Collection[tuple[str, str]]) -> bool:
        """Whether one of its files is of one of some releases, by their senders and IDs."""
        for item, _ in self.items:
            tags = tags_of(item.tags_json)
            for name in ("release", "icpn", "grid"):
                if (tags.get("sender"), tags.get(name)) in releases:
                    return True
        return False

    def is_whole(self, newest: Mapping[str, PastAnswer]) -> bool:
        """Whether the newest answer of each of its items is `accepted`."""
        for item, answer in self.items:
            if answer.reason in HINDERS_NOTHING:
                continue
            if item.item_id not in newest or newest[item.item_id].outcome != "accepted":
                return False
        return True

    @property
    def target_folder(self) -> str:
        """Return the folder to which a delivery moves."""
        last = self.files[-1]
        folder = self.folder or ""
        return last.target.removesuffix(last.source[len(folder) :])

    def holds(self, file: str) -> bool:
        """Whether a file below the folder is of this delivery, also one that came after the move began."""
        folder = nearest_folder(file, self.folder or "", self.folders)
        return self.folders.get(folder, True)

    def files_with(self, items: Sequence[tuple[WorkItem, PastAnswer]]) -> list[FileMove]:
        """Return the files of some of a delivery's items, and those that are no item's, such as its messages."""
        audio: set[str] = set()
        sidecars: set[str | None] = set()
        for item, _ in items:
            audio.add(item.audio)
            sidecars.add(item.sidecar)
        others: set[str | None] = set()
        for item, _ in self.items:
            if item.audio not in audio:
                others.add(item.audio)
            if item.sidecar not in sidecars:
                others.add(item.sidecar)
        return [file for file in self.files if file.source not in others]

    def delivered(self, file: FileMove) -> str:
        """Return where one of the files was delivered."""
        if self.delivered_in is None:
            return file.source
        return self.delivered_in + file.source[len(self.folder or "") :]

    def without(self, places: Collection[str]) -> Self | None:
        """Return the same without files that were delivered at some places; None if none is left."""
        files = tuple(file for file in self.files if file.source not in places)
        if not files:
            return None
        items = [answered for answered in self.items if answered[0].audio not in places]
        return replace(self, files=files, items=tuple(items))

    @property
    def results(self) -> int:
        """How many results it has: one for each item; one for a delivery without audio."""
        return max(1, len(self.items))

    @property
    def name(self) -> str:
        """Where the last file goes, which tells moves apart."""
        return self.files[-1].target


def in_folder(folder: str, place: str, file: str) -> str:
    """Return where a file of a folder goes, if the folder goes to a place."""
    return f"{place}{file[len(folder) :]}"


def beside(place: str, file: str) -> str:
    """Return where a file goes that belongs to the one that goes to a place."""
    return posixpath.join(posixpath.dirname(place), posixpath.basename(file))
