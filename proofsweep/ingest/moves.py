"""Files that are moved together or not at all: where each goes is chosen before any is copied. Pure."""

import hashlib
import posixpath
from dataclasses import dataclass

from proofsweep.domain.items import WorkItem
from proofsweep.ingest.rules import Disposition, PastAnswer


@dataclass(frozen=True, slots=True, kw_only=True)
class FileMove:
    source: str
    target: str
    sha256: str  # of its bytes, in hex; a file with others is not moved
    owns: bool = True  # whether the name was free, so that what is there later is a copy of this move


@dataclass(frozen=True, slots=True, kw_only=True)
class MovedItem:
    """An item whose files are moved, its answer, and what it is after the move."""

    item: WorkItem
    answer: PastAnswer
    disposition: Disposition


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """Files that belong together, with the names that were chosen for all of them before anything was copied."""

    # the last one is the sign that the others are there: it is copied last and removed first. That is the audio of a
    # pair; of a batch the completion file, else a message.
    files: tuple[FileMove, ...]
    items: tuple[MovedItem, ...]
    folder: str | None = None  # the folder of a delivery that moves as a whole; None for the files of one item

    @property
    def name(self) -> str:
        """Where the last file goes, which tells moves apart."""
        return self.files[-1].target


def targets_of(
    watched: str, target: str, audio: str, sidecar: str | None, digests: tuple[str | None, str | None]
) -> list[tuple[str, str | None]]:
    """Return the locations for a file and its sidecar below a target, the preferred ones first.

    The second ones lie in a folder named by the content: names that exist are never overwritten, and a pair keeps its
    names, by which it is a pair.
    """
    folder = posixpath.dirname(audio[len(watched.rstrip("/")) :].lstrip("/"))
    locations = [
        posixpath.join(target.rstrip("/"), folder),
        posixpath.join(target.rstrip("/"), folder, _short(digests)),
    ]
    return [
        (_in(location, audio), None if sidecar is None else _in(location, sidecar))
        for location in (each.rstrip("/") for each in locations)
    ]


def folders_of(watched: str, target: str, folder: str, digests: tuple[str | None, ...]) -> list[str]:
    """Return the folders below a target for a folder that moves as a whole, the preferred one first.

    The second one lies in a folder named by the content, and keeps its own name.
    """
    above, name = posixpath.split(folder[len(watched.rstrip("/")) :].strip("/"))
    locations = [posixpath.join(target.rstrip("/"), above, name)]
    locations.append(posixpath.join(target.rstrip("/"), above, _short(digests), name))
    return [location.rstrip("/") for location in locations]


def _short(digests: tuple[str | None, ...]) -> str:
    return hashlib.sha256("|".join(digest or "" for digest in digests).encode()).hexdigest()[:12]


def _in(folder: str, location: str) -> str:
    return f"{folder}/{posixpath.basename(location)}"
