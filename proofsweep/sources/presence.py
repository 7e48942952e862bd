"""Whether the folder of a file is there, or away: one rule for plans, legs, passes and recoveries.

A file is missing if its own folder, or the nearest folder above it that exists, can be listed, holds something, and
is on the disk on which it was when a file of it was read last. Else that folder is away, and nothing is known of its
files: an empty folder mostly is the point of a mount that is away. A catalog's root that is gone, or lacks most of
the files that were read before, is away too, and so is such a bucket.

A prefix of a bucket is no evidence, since nothing can be mounted there: a bucket is there or away as a whole.
"""

import os
import posixpath
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace

from proofsweep.config.locations import is_bucket, is_within, one_line, root_and_key
from proofsweep.domain.errors import SHORTAGES, ResourceShortage, SourceError
from proofsweep.domain.reasons import Reason
from proofsweep.sources.audio import open_audio
from proofsweep.sources.files import NOTHING_THERE, Files

_FILES_TRIED = 20  # of a root, to see whether it is away
_FOLDERS_KEPT = 100_000  # whose disks are remembered
_EMPTY = "it is empty, as the point of a mount is whose share is away"
_SHARE_WENT = "the folder is empty or gone, and a share was mounted there"
_IS_GONE = "it does not exist any more"
_OTHER_DISK = "it is on another disk than before"
_MOST_IS_GONE = "most of what could be read there before is gone"


@dataclass(frozen=True, slots=True)
class Away:
    """Why nothing is known of the files in a folder or bucket, and of those below it."""

    folder: str
    why: str  # a clause
    is_closed: bool = False  # whether it is only not permitted to list it

    @property
    def sentence(self) -> str:
        return f"{one_line(self.folder)} is away: {self.why}. Is it mounted?"


def folder_of(location: str) -> str:
    """Return the folder whose presence tells whether a file is missing; of an object, the bucket."""
    return root_and_key(location)[0] if is_bucket(location) else posixpath.dirname(location) or "/"


def places_of(location: str) -> Iterator[str]:
    """Yield the folder of a file and all folders above it; of an object, its bucket."""
    folder = folder_of(location)
    yield folder
    while not is_bucket(folder) and folder not in {"/", "//", ""}:
        folder = posixpath.dirname(folder)
        yield folder


def mount_of(location: str) -> str:
    """Return the mount point above a location, which may not be there yet; empty for a bucket."""
    path = "" if is_bucket(location) else os.path.realpath(location)
    while path and not posixpath.ismount(path):
        path = posixpath.dirname(path)
    return path


def away_since(folder: str, mount_before: str) -> Away | None:
    """Say whether a folder is empty or gone because the share is away that was mounted there before."""
    if len(mount_before) <= len(mount_of(folder)):
        return None
    away = away_or_gone(folder)
    if away is None:
        return None
    return replace(away, folder=folder, why=_SHARE_WENT if away.why in {_EMPTY, _IS_GONE} else away.why)


def away_or_gone(folder: str) -> Away | None:
    """Look at a folder of this machine that must be there, whatever else is in the folder above it."""
    away = away_now(folder)
    return Away(folder, _IS_GONE) if away is None and not posixpath.isdir(folder) else away


def away_now(folder: str, files: Files | None = None, emptied_below: str | None = None) -> Away | None:
    """Look at a folder or bucket as it is now; None if it is there, or if there are others in the folder above it.

    Below the folder `emptied_below`, an empty one is normal. ResourceShortage if this process cannot look now.
    """
    return _looked(folder, files or Files(), emptied_below)[1]


def _looked(folder: str, files: Files, emptied_below: str | None) -> tuple[str, Away | None]:
    """Return the nearest folder that exists, without links in its path, and why it is away."""
    if is_bucket(folder):
        return folder, _look_at_bucket(folder, files)
    try:
        there = os.path.realpath(folder)  # a link that leads nowhere tells of the folder to which it should lead
    except ValueError:  # no folder can have such a name
        return "/", None
    while True:
        try:
            if (is_empty := _is_empty(there)) is False:
                return there, None
        except OSError as error:
            return there, _unlisted(_named_above(folder, _highest_unlisted(there)), error)
        is_normal = emptied_below is not None and is_within(there, emptied_below) and there != emptied_below
        if is_empty and not is_normal:
            return there, Away(_named_above(folder, there), _EMPTY)
        there = posixpath.dirname(there)


def _is_empty(folder: str) -> bool | None:
    """Whether a folder holds nothing; None if there is no such folder."""
    try:
        with os.scandir(folder) as entries:
            return next(entries, None) is None
    except OSError as error:
        if error.errno in NOTHING_THERE:
            return None
        raise


def _highest_unlisted(folder: str) -> str:
    """Return the highest folder above one that cannot be listed, which cannot be listed either: the share itself."""
    above = posixpath.dirname(folder)
    while above != folder and _is_unlisted(above):
        folder, above = above, posixpath.dirname(above)
    return folder


def _is_unlisted(folder: str) -> bool:
    try:
        _is_empty(folder)
    except OSError:
        return True
    return False


def _unlisted(folder: str, error: OSError) -> Away:
    if error.errno in SHORTAGES:
        why = f"This process cannot list a folder now: {error.strerror}."
        raise ResourceShortage(why, reason=Reason.SOURCE_UNAVAILABLE) from error
    return Away(folder, f"it cannot be listed ({error.strerror})", is_closed=isinstance(error, PermissionError))


def _named_above(folder: str, real: str) -> str:
    """Return the highest folder above one, as it is written, that lies in another one, whose path has no links."""
    above = posixpath.dirname(folder)
    while above != folder and is_within(os.path.realpath(above), real):
        folder, above = above, posixpath.dirname(above)
    return folder


def _look_at_bucket(bucket: str, files: Files) -> Away | None:
    files.buckets.reopen(bucket)  # its credentials may have been renewed
    try:
        if any(True for _ in files.buckets.listed(bucket)):
            return None
    except ResourceShortage:
        raise
    except SourceError as error:
        if error.reason == Reason.UNREADABLE_FILE:  # one odd key breaks the listing
            return None
        return Away(bucket, f"it cannot be listed ({error.message})", error.reason == Reason.SOURCE_FORBIDDEN)
    return Away(bucket, "it lists nothing")


@dataclass(slots=True)
class Presence:
    """What one process knows of the folders of files, to say whether they are there; threads may use it at any time.

    `read_before` names files that were read before this process began, the best known first.
    """

    files: Files
    root: str | None = None  # the catalog's, as a path or bucket URL; None if its files may lie anywhere
    read_before: Callable[[], Iterable[str]] = tuple
    # Of a drop folder, from which files are moved: whether it is empty for that reason. An empty one in it always is.
    is_emptied: Callable[[str], bool] | None = None
    _read: dict[str, deque[str]] = field(default_factory=dict)
    _disks: dict[str, int] = field(default_factory=dict)  # of folders without links in their paths

    def note_read(self, location: str) -> None:
        """Take note that a file was read."""
        self._read.setdefault(self._top_of(location), deque(maxlen=_FILES_TRIED)).append(location)
        folder = folder_of(location)
        if is_bucket(folder) or folder in self._disks or len(self._disks) >= _FOLDERS_KEPT:
            return
        try:
            above = os.path.realpath(folder)
            while above not in self._disks:
                self._disks[above] = disk_of(above)
                above = posixpath.dirname(above)
            self._disks.setdefault(folder, self._disks[os.path.realpath(folder)])
        except OSError:  # it has just gone
            return

    def away(self, folder: str) -> Away | None:
        """Say why a folder or bucket is away; None if it is there, or nothing speaks against it.

        ResourceShortage if this process cannot look now; ResultsError if what was read before cannot be known.
        """
        return self.away_among([folder])[folder]

    def away_among(self, folders: Iterable[str]) -> dict[str, Away | None]:
        """Say it of some folders; each of them is listed once, and each root is looked at once."""
        found: dict[str, Away | None] = {}
        tops: dict[str, Away | None] = {}
        for folder in folders:
            top = self._top_of(posixpath.join(folder, ""))
            if top not in tops:
                tops[top] = self._away_by_files(top)
            is_read = bool(self._read.get(top)) and tops[top] is None
            found[folder] = self._away_by_listing(folder, is_read=is_read) or tops[top]
        return found

    def _away_by_listing(self, folder: str, *, is_read: bool) -> Away | None:
        top = None if self.root is None or self.is_emptied is None else os.path.realpath(self.root)
        there, away = _looked(folder, self.files, top)
        if away is not None and self.is_emptied is not None and self.root is not None and there == top:
            away = None if self.is_emptied(self.root) else away
        if is_bucket(folder):
            return None if is_read else away  # who may read objects may not always list them
        root = self.root if self.root is not None and is_within(folder, self.root) else None
        if away is None and root is not None and not is_within(there, os.path.realpath(root)):
            return Away(root, _IS_GONE)
        return away or self._away_by_disk(folder, there)

    def _away_by_disk(self, folder: str, there: str) -> Away | None:
        """Say whether another disk than before holds a folder, or the nearest one above it that is there."""
        try:
            disk = disk_of(there)
            real = os.path.realpath(folder)
        except (OSError, ValueError):
            return None
        if self._disks.get(there, disk) != disk:
            return Away(_named_above(folder, there), _OTHER_DISK)
        below = posixpath.join(there, real.removeprefix(there).lstrip("/").partition("/")[0])
        if real != there and self._disks.get(below, disk) != disk:
            return Away(_named_above(folder, below), _OTHER_DISK)
        return None

    def _away_by_files(self, top: str) -> Away | None:
        """Say whether a root lacks more than half of the files that were read of it."""
        read = [*self._read.get(top, deque[str]()).copy()]
        if not read:
            read = [each for each in self.read_before() if self._top_of(each) == top]
        tried = list(dict.fromkeys(read))[:_FILES_TRIED]
        if is_bucket(top) and tried:
            self.files.buckets.reopen(top)
        there = sum(_opens(location, self.files) for location in tried)
        return Away(top, _MOST_IS_GONE) if 2 * there < len(tried) else None

    def _top_of(self, location: str) -> str:
        """Return the bucket, the catalog's root, or the folder in which a mount outside of it mostly lies."""
        if is_bucket(location):
            return root_and_key(location)[0]
        if self.root is not None and is_within(location, self.root):
            return self.root
        return "/".join(posixpath.dirname(location).split("/")[:3]) or "/"


def disk_of(folder: str) -> int:
    return os.stat(folder).st_dev  # noqa: PTH116 -- for each of very many folders


def _opens(location: str, files: Files) -> bool:
    try:
        with open_audio(location, files):
            return True
    except ResourceShortage:
        raise
    except SourceError:
        return False
