"""Tell a file that is kept from us from a bucket that is: expired credentials are no fault of thousands of files."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from proofsweep.client.stop import StopSwitch
from proofsweep.domain.reasons import Reason
from proofsweep.errors import RunMustStop, SourceError
from proofsweep.storage.files.files import Files
from proofsweep.storage.locations import is_bucket, root_and_key
from proofsweep.usecases.item.source_streaks import Blame, SourceStreak

_LONGEST_PAUSE_SECONDS = 2.0
_DOUBTFUL = frozenset({Reason.SOURCE_FORBIDDEN, Reason.SOURCE_UNAVAILABLE})


@dataclass(slots=True)
class SourceWatch:
    """Watches each bucket by itself; thread-safe. `clock` gives monotonic seconds.

    A file that was read before is the witness: while it can still be read, one that cannot is to blame for itself.

    Attributes:
        read_earlier: names a file of a bucket that was read before this leg; None where there is none.
    """

    files: Files
    stop: StopSwitch
    threshold: int
    patience_seconds: float
    clock: Callable[[], float] = time.monotonic
    read_earlier: Callable[[str], str | None] = lambda _root: None
    _streaks: dict[str, SourceStreak] = field(default_factory=dict)
    _witnesses: dict[str, str | None] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def was_read(self, location: str) -> None:
        """Take note of a file that could be read; those of this machine have no bucket to answer for."""
        if not is_bucket(location):
            return
        root, _ = root_and_key(location)
        with self._lock:
            self._witnesses[root] = location
            self._streaks.pop(root, None)

    def is_worth_another_try(self, location: str, error: SourceError) -> bool:
        """Say whether a file that could not be read may be had yet, after a pause; False when it is to blame itself.

        Raises:
            RunMustStop: the bucket is away for everyone, or the leg ends anyway.
        """
        if error.reason not in _DOUBTFUL:
            return False
        root, _ = root_and_key(location)
        was_away, can_be_read = self._noted(root, location), self._witness_can_be_read(root)
        with self._lock:
            streak = self._streaks.get(root)
            if can_be_read is True or streak is None:  # somebody reads
                self._streaks.pop(root, None)
                return was_away or streak is None
            streak.is_away = can_be_read is False
            blame = streak.blame(self.clock(), threshold=self.threshold, patience_seconds=self.patience_seconds)
        if blame is Blame.SOURCE:
            self._give_up(root, error)
        if blame is Blame.NOBODY_YET:
            self.files.buckets.reopen(location)
            self.stop.rest(min(_LONGEST_PAUSE_SECONDS, self.patience_seconds / 4))
        return blame is Blame.NOBODY_YET

    def _noted(self, root: str, location: str) -> bool:
        """Count a failure; say whether the bucket was known to be away."""
        with self._lock:
            streak = self._streaks.setdefault(root, SourceStreak(self.clock()))
            streak.locations.add(location)
            return streak.is_away

    def _witness_can_be_read(self, root: str) -> bool | None:
        """Look at the file that was read last; None when there is none, or when it is gone."""
        with self._lock:
            if root not in self._witnesses:
                self._witnesses[root] = self.read_earlier(root)
            witness = self._witnesses[root]
        try:
            return True if witness is not None and self.files.facts(witness) is not None else None
        except SourceError:
            return False

    def _give_up(self, root: str, error: SourceError) -> None:
        reason = RunMustStop(f"The source {root} cannot be read: {error.message}", ended_by="breaker")
        self.stop.pull(reason)
        raise reason
