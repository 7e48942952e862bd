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
from itertools import islice

from proofsweep.config.locations import is_within, one_line, root_and_key
from proofsweep.domain.errors import SHORTAGES, ResourceShortage, SourceError
from proofsweep.domain.reasons import Reason
from proofsweep.files.audio import open_audio
from proofsweep.files.files import Files, kind_of
from proofsweep.files.local_files import NOTHING_THERE, WHY_HANGS, Awaited
from proofsweep.files.mounts import mount_of

_FILES_TRIED = 20  # of a root, to see whether it is away
_PARTS_TO_MOUNT = 3  # as in /mnt/music, the first of which is empty
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
    if not kind_of(location).is_on_this_machine:
        bucket, _ = root_and_key(location)
        return bucket
    return posixpath.dirname(location) or "/"


def places_of(location: str) -> Iterator[str]:
    """Yield the folder of a file and all folders above it; of an object, its bucket."""
    folder = folder_of(location)
    yield folder
    while kind_of(folder).is_on_this_machine and folder not in {"/", "//", ""}:
        folder = posixpath.dirname(folder)
        yield folder


def away_since(folder: str, mount_before: str) -> Away | None:
    """Say whether a folder is empty or gone because the share is away that was mounted there before."""
    if len(mount_before) <= len(mount_of(folder)):
        return None
    away = away_or_gone(folder)
    if away is None:
        return None
    why = _SHARE_WENT if away.why in {_EMPTY, _IS_GONE} else away.why
    return replace(away, folder=folder, why=why)


def away_or_gone(folder: str) -> Away | None:
    """Look at a folder that must be there, whatever else is in the folder above it; a prefix may hold nothing."""
    if not kind_of(folder).has_folders:
        return None
    away = away_now(folder)
    if away is None and is_gone(folder):
        return Away(folder, _IS_GONE)
    return away


def is_gone(folder: str) -> bool:
    """Whether there is no such folder; a prefix needs none."""
    return kind_of(folder).has_folders and not posixpath.isdir(folder)


def is_missing(location: str) -> bool:
    """Whether a file that is not found is missing for sure: below an empty folder, a share may not be mounted."""
    return not kind_of(location).is_on_this_machine or any(_entries_above(location))


def _entries_above(location: str) -> Iterator[str]:
    """Yield what is in the nearest folder above a location that is there."""
    folder = posixpath.dirname(location)
    while folder != "/" and not posixpath.isdir(folder):
        folder = posixpath.dirname(folder)
    try:
        yield from os.listdir(folder)  # noqa: PTH208 -- of text
    except OSError:
        return


def listing_error(folder: str) -> OSError | None:
    """Return why a folder of this machine cannot be listed; None if it can, and of a prefix."""
    if not kind_of(folder).has_folders:
        return None
    try:
        with Awaited(posixpath.join(folder, "")), os.scandir(folder) as entries:
            next(entries, None)  # some shares that are away fail only here
    except OSError as error:
        return error
    return None


def away_now(folder: str, files: Files | None = None, emptied_below: str | None = None) -> Away | None:
    """Look at a folder or bucket as it is now; None if it is there, or if there are others in the folder above it.

    Below the folder `emptied_below`, an empty one is normal. ResourceShortage if this process cannot look now.
    """
    with Awaited(posixpath.join(folder, "")):
        _, away = _nearest(folder, files or Files(), emptied_below)
    return away


def _nearest(folder: str, files: Files, emptied_below: str | None) -> tuple[str, Away | None]:
    """Return the nearest folder that exists, without links in its path, and why it is away."""
    if not kind_of(folder).is_on_this_machine:
        return folder, _look_at_bucket(folder, files)
    try:
        nearest = os.path.realpath(folder)  # a link that leads nowhere tells of the folder to which it should lead
    except ValueError:  # no folder can have such a name
        return "/", None
    while True:
        try:
            is_empty = _is_empty(nearest)
        except OSError as error:
            closed = _named_above(folder, _highest_unlisted(nearest))
            return nearest, _unlisted(closed, error)
        if is_empty is False:
            return nearest, None
        # An empty folder mostly is the point of a mount that is away; files are moved out of those below a drop folder.
        is_normal = emptied_below is not None and is_within(nearest, emptied_below) and nearest != emptied_below
        if is_empty and not is_normal:
            return nearest, Away(_named_above(folder, nearest), _EMPTY)
        nearest = posixpath.dirname(nearest)


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
    # The highest folder that cannot be listed is the share itself: a person can do something about that one.
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
        first = next(files.buckets.listed(bucket), None)
    except ResourceShortage:
        raise
    except SourceError as error:
        if error.reason == Reason.UNREADABLE_FILE:  # one odd key breaks the listing
            return None
        is_closed = error.reason == Reason.SOURCE_FORBIDDEN
        return Away(bucket, f"it cannot be listed ({error.message})", is_closed)
    return Away(bucket, "it lists nothing") if first is None else None


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
    hanging: dict[int, str] = field(default_factory=dict)  # where reads hang that were given up, by thread
    _read: dict[str, deque[str]] = field(default_factory=dict)
    _disks: dict[str, int] = field(default_factory=dict)  # of folders without links in their paths

    def note_read(self, location: str) -> None:
        """Record that a file was read."""
        read = self._read.setdefault(self._top_of(location), deque(maxlen=_FILES_TRIED))
        read.append(location)
        folder = folder_of(location)
        if not kind_of(folder).is_on_this_machine or folder in self._disks or len(self._disks) >= _FOLDERS_KEPT:
            return
        try:
            with Awaited(location):
                above = os.path.realpath(folder)
                while above not in self._disks:
                    self._disks[above] = disk_of(above)
                    above = posixpath.dirname(above)
                disk = self._disks[os.path.realpath(folder)]
        except OSError:  # it has just gone
            return
        self._disks.setdefault(folder, disk)

    def away(self, folder: str) -> Away | None:
        """Say why a folder or bucket is away; None if it is there, or nothing speaks against it.

        ResourceShortage if this process cannot look now; ResultsError if what was read before cannot be known.
        """
        return self.away_among([folder])[folder]

    def away_among(self, folders: Iterable[str]) -> dict[str, Away | None]:
        """Say it of several folders. Each of them is listed once, and each root is looked at once."""
        by_folder: dict[str, Away | None] = {}
        by_top: dict[str, Away | None] = {}
        for folder in folders:
            if hanging := self.hanging_above(folder):
                by_folder[folder] = Away(hanging, WHY_HANGS)
                continue
            top = self._top_of(posixpath.join(folder, ""))
            if top not in by_top:
                by_top[top] = self._away_by_files(top)
            is_read = bool(self._read.get(top)) and by_top[top] is None
            by_folder[folder] = self._away_by_listing(folder, is_read=is_read) or by_top[top]
        return by_folder

    def hanging_above(self, location: str) -> str | None:
        """Return the place around a file or folder where a read hangs: another one would hang there, too."""
        for place in self.hanging.copy().values():
            if is_within(location, place):
                return place
        return None

    def _away_by_listing(self, folder: str, *, is_read: bool) -> Away | None:
        with Awaited(posixpath.join(folder, "")):
            return self._away_by_look(folder, is_read=is_read)

    def _away_by_look(self, folder: str, *, is_read: bool) -> Away | None:
        drop_folder = None
        if self.root is not None and self.is_emptied is not None:
            drop_folder = os.path.realpath(self.root)
        nearest, away = _nearest(folder, self.files, drop_folder)
        if not kind_of(folder).is_on_this_machine:
            return None if is_read else away  # who may read objects may not always list them
        if away is not None and nearest == drop_folder and self._is_root_emptied():
            away = None
        if away is None and self.root is not None and is_within(folder, self.root):
            root = os.path.realpath(self.root)
            if not is_within(nearest, root):
                return Away(self.root, _IS_GONE)
        return away or self._away_by_disk(folder, nearest)

    def _is_root_emptied(self) -> bool:
        return self.root is not None and self.is_emptied is not None and self.is_emptied(self.root)

    def _away_by_disk(self, folder: str, nearest: str) -> Away | None:
        """Say whether another disk than before holds a folder, or the nearest one above it that is there."""
        try:
            disk = disk_of(nearest)
            real = os.path.realpath(folder)
        except (OSError, ValueError):
            return None
        if self._disks.get(nearest, disk) != disk:
            return Away(_named_above(folder, nearest), _OTHER_DISK)
        if real == nearest:
            return None
        # The folder right below is gone, and may have been where another disk was mounted.
        missing = real.removeprefix(nearest).lstrip("/")
        below = posixpath.join(nearest, missing.partition("/")[0])
        if self._disks.get(below, disk) != disk:
            return Away(_named_above(folder, below), _OTHER_DISK)
        return None

    def _away_by_files(self, top: str) -> Away | None:
        """Say whether a root lacks more than half of the files that were read of it."""
        read = [*self._read.get(top, deque[str]()).copy()]
        if not read:
            read = [location for location in self.read_before() if self._top_of(location) == top]
        may_answer = (location for location in dict.fromkeys(read) if self.hanging_above(location) is None)
        tried = list(islice(may_answer, _FILES_TRIED))
        if not kind_of(top).is_on_this_machine and tried:
            self.files.buckets.reopen(top)
        opened = sum(_opens(location, self.files) for location in tried)
        if 2 * opened < len(tried):
            return Away(top, _MOST_IS_GONE)
        return None

    def _top_of(self, location: str) -> str:
        """Return the bucket, the catalog's root, or the folder in which a mount outside of it mostly lies."""
        if not kind_of(location).is_on_this_machine:
            return folder_of(location)
        if self.root is not None and is_within(location, self.root):
            return self.root
        parts = posixpath.dirname(location).split("/")
        return "/".join(parts[:_PARTS_TO_MOUNT]) or "/"


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
