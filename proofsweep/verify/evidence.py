"""What a process of a leg has seen: strange outcomes that wait for a control, and files that may serve as one."""

import posixpath
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from proofsweep.config.locations import is_bucket, is_within, root_and_key
from proofsweep.domain.items import Mode
from proofsweep.domain.outcomes import Accepted, Failed, Finished
from proofsweep.store.past_answers import AcceptedItem
from proofsweep.store.tables.columns import Row
from proofsweep.verify.fault import Streaks, Subject

ACCEPTED_KEPT = 32  # accepted items that are kept of each mode, and among which some are drawn
FILES_TRIED = 20  # files of a root that are tried in one control


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspect:
    """A strange outcome with its row, and when its tries began and ended in monotonic seconds."""

    done: Finished
    row: Row
    subject: Subject
    began_at: float
    ended_at: float


@dataclass(slots=True)
class Suspects:
    """The suspects that wait, in the order in which they came; safe to use from several threads."""

    waiting: list[Suspect] = field(default_factory=list)  # those themselves
    put_aside: set[int] = field(default_factory=set)  # rows that were tried, and are not written
    tries_in_a_row: int = 0  # failed tries since the last row that was written
    _streaks: Streaks = field(default_factory=Streaks)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, done: Finished) -> int:
        """Take note of an outcome; return how many refusals of its mode, or damaged files, came alike in a row."""
        with self._lock:
            return self._streaks.note(done)

    def add(self, suspect: Suspect) -> None:
        with self._lock:
            self.waiting.append(suspect)
            self.put_aside.add(suspect.done.item.manifest_row)
            self.tries_in_a_row += isinstance(suspect.done.outcome, Failed)

    def take(self, is_wanted: Callable[[Suspect], bool] = lambda _suspect: True) -> list[Suspect]:
        with self._lock:
            taken = [each for each in self.waiting if is_wanted(each)]
            self.waiting = [each for each in self.waiting if not is_wanted(each)]
        return taken

    def put_back(self, suspects: Sequence[Suspect]) -> None:
        with self._lock:
            self.waiting = [*suspects, *self.waiting]

    def was_written(self, row: int) -> None:
        with self._lock:
            self.tries_in_a_row = 0
            self.put_aside.discard(row)

    def subjects(self) -> set[Subject]:
        return {each.subject for each in self.waiting}


@dataclass(slots=True)
class KnownFiles:
    """The files of a leg that were read, and items that were accepted; threads may note them at any time."""

    root: str | None = None  # the catalog's, as a path or bucket URL; None if its files may lie anywhere
    accepted: list[AcceptedItem] = field(default_factory=list)  # the smallest and the largest items of each mode
    _read: dict[str, deque[str]] = field(default_factory=dict)

    def root_of(self, location: str) -> str:
        """Return the bucket, the catalog's root, or the folder in which a mount outside of it mostly lies."""
        if is_bucket(location):
            return root_and_key(location)[0]
        if self.root is not None and is_within(location, self.root):
            return self.root
        return "/".join(posixpath.dirname(location).split("/")[:3]) or "/"

    def note(self, done: Finished) -> None:
        item, read = done.item, done.read
        if read is None or read.version is None:
            return
        self.note_read(item.audio)
        if isinstance(done.outcome, Accepted) and done.original is None and read.sha256 is not None:
            accepted = AcceptedItem(read.size_bytes, item.audio, item.sidecar, read.sha256, read.sidecar_sha256)
            self.accepted.append(accepted)
            if len(self.accepted) > 4 * ACCEPTED_KEPT:
                self.accepted = _ends(self.accepted)

    def note_read(self, location: str) -> None:
        root = self.root_of(location)
        if root not in self._read:
            self._read[root] = deque(maxlen=FILES_TRIED)
        self._read[root].append(location)

    def read_in(self, root: str) -> list[str]:
        """Name the files of a root that were read last, the newest first."""
        return list(self._read.get(root, ()))[::-1]  # a copy: other threads add to it


def size_of(done: Finished) -> int:
    return done.read.size_bytes if done.read is not None else done.item.audio_bytes or 0


def _ends(accepted: list[AcceptedItem]) -> list[AcceptedItem]:
    kept: list[AcceptedItem] = []
    for mode in Mode:
        items = sorted(each for each in accepted if each.mode is mode)
        kept += items if len(items) <= 2 * ACCEPTED_KEPT else [*items[:ACCEPTED_KEPT], *items[-ACCEPTED_KEPT:]]
    return kept
