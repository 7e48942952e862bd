"""The folder of a results store, as this process knows it: one that is away is neither empty nor new.

Where a share is not mounted, its mount point is an empty folder, or none. So the store has a marker with a random ID.
A process keeps in mind the marker, the device and the inode of the folder that it saw first. If another one stands
there, the store is away: nothing is read from there, and nothing is made there.
"""

import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from proofsweep.config.locations import make_folder, share_with_folder, sync_folder
from proofsweep.config.notices import say
from proofsweep.config.threads import RLock
from proofsweep.domain.errors import ResultsError
from proofsweep.store.whole_files import link, read_whole, write_whole

MARKER = "_store.json"

Place = tuple[int, int]  # device and inode of a folder


def new_marker() -> bytes:
    marker = {"store_id": secrets.token_hex(16)}
    return json.dumps(marker).encode() + b"\n"


def say_new(called: str, url: str) -> None:
    say(f"New {called}: {url}")


def no_store_error(called: str, url: str) -> ResultsError:
    begin = "`proofsweep doctor` with the same settings begins one there"
    return ResultsError(f"There is no {called} at {url}: is it mounted? results.must_exist is true; {begin}.")


class FolderRoot:
    def __init__(self, path: Path, called: str, *, is_marked: bool, must_exist: bool) -> None:
        """Take the folder; one that is not marked is any folder, and is made with those above it when it is written."""
        self.path, self.must_exist = path, must_exist
        self._called, self._is_marked = called, is_marked
        self._lock = RLock()
        self._was_seen = False
        self._place: Place | None = None  # None before there was a store, and while it is away
        self._marker: bytes | None = None  # its content; None before there was one
        self._above: tuple[Path, Place] | None = None  # the nearest folder that existed, if the root did not

    @contextmanager
    def opened(self) -> Iterator[int]:
        """Open the folder for one read; FileNotFoundError if there is no store yet, ResultsError if it is away.

        What is read below the handle is of this store, whatever is mounted meanwhile. No handle is kept: it would keep
        a share from being unmounted.
        """
        self.look()
        handle = self._open()
        try:
            self._require_known(handle)
            yield handle
        finally:
            os.close(handle)

    @contextmanager
    def opened_to_write(self) -> Iterator[int]:
        """Open the folder for one write; a store that is new begins. ResultsError if it is away, before or after."""
        self.look()
        if not self._is_marked:
            for made in make_folder(self.path):
                share_with_folder(made)
        elif self._marker is None:
            self._begin()
        with self.opened() as handle:
            yield handle
        # If the store went meanwhile, nobody will see what was written.
        with self.opened():
            pass

    def look(self) -> None:
        """Look once which store is there; ResultsError if one must exist and none does."""
        if self._was_seen or not self._is_marked:
            return
        with self._lock:
            if not self._was_seen:
                self._look_first()

    def _look_first(self) -> None:
        try:
            handle = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError:
            self._above = _nearest(self.path)
        else:
            try:
                self._place = _place_of(handle)
                self._marker = _read_marker(handle)
            finally:
                os.close(handle)
        if self._marker is None and self.must_exist:
            raise no_store_error(self._called, str(self.path))
        self._was_seen = True

    def _open(self) -> int:
        try:
            return os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError:
            if self._was_seen and self._above is None:
                raise self._away() from None
            raise

    def _require_known(self, handle: int) -> None:
        """Raise ResultsError if a folder is not the store that was there before; it may have been mounted anew."""
        place = _place_of(handle)
        if place == self._place or not self._is_marked:
            return
        with self._lock:
            marker = _read_marker(handle)
            if self._above is not None:
                # There was none, and another process has begun one since, below the same folder.
                folder, seen = self._above
                if _place_of_path(folder) != seen:
                    raise self._away()
                self._above = None
                self._marker = marker
            elif marker is None or marker != self._marker:
                # Whatever comes back is looked at again, even in the place that was known: devices are numbered anew.
                if self._marker is not None:
                    self._place = None
                raise self._away()
            self._place = place

    def _begin(self) -> None:
        """Make the folder and its marker, but no folder above it."""
        own = new_marker()
        with self._lock:
            if self._above is not None:
                self._make()
            with self.opened() as handle:
                names = os.listdir(handle)  # noqa: PTH208 - below a handle
                is_new = all(name.startswith(".") for name in names)
                # Another process may begin the store at the same time: the marker that stands there counts for both.
                if _read_marker(handle) is None:
                    with suppress(FileExistsError):
                        write_whole(handle, Path(MARKER), own, link)
                self._marker = _read_marker(handle)
        if is_new and self._marker == own:
            say_new(self._called, str(self.path))

    def _make(self) -> None:
        try:
            self.path.mkdir()
        except FileExistsError:
            return
        except FileNotFoundError:
            require_parent(self.path, self._called)
            raise
        sync_folder(self.path.parent)
        share_with_folder(self.path)

    def _away(self) -> ResultsError:
        what = "is away: another folder, or none, stands in its place. Is it mounted?"
        return ResultsError(f"The {self._called} {self.path} {what}", is_outage=True)


def require_parent(path: Path, called: str) -> None:
    """Raise ResultsError if the folder above a store is missing: none is made, since a share may not be mounted."""
    if not path.parent.is_dir():
        missing = f"there is no folder {path.parent}. Is it mounted? Else make it first"
        raise ResultsError(f"The {called} {path} cannot be written: {missing}.")


def _place_of(handle: int) -> Place:
    facts = os.fstat(handle)
    return facts.st_dev, facts.st_ino


def _place_of_path(path: Path) -> Place | None:
    with suppress(OSError):
        facts = path.stat()
        return facts.st_dev, facts.st_ino
    return None


def _nearest(path: Path) -> tuple[Path, Place] | None:
    """Return the nearest folder above a path that exists."""
    for folder in path.parents:
        place = _place_of_path(folder)
        if place is not None:
            return folder, place
    return None


def _read_marker(root: int) -> bytes | None:
    try:
        return read_whole(root, Path(MARKER))
    except FileNotFoundError:
        return None
