"""Tell a file that cannot be read from a bucket that cannot: expired credentials are no fault of thousands of files."""

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from proofsweep.client.stop import StopSwitch
from proofsweep.domain.reasons import Reason
from proofsweep.errors import ResultsError, RunMustStop, SourceError
from proofsweep.storage.files.files import Files
from proofsweep.storage.locations import is_bucket, root_and_key

# Bounds how long a file waits after its bucket is well again; half of it only asks the bucket more often.
_LONGEST_WAIT_SECONDS = 2.0

_MAY_BE_THE_BUCKET = frozenset({Reason.SOURCE_FORBIDDEN, Reason.SOURCE_UNAVAILABLE})


@dataclass(slots=True)
class SourceStreak:
    """Files of one bucket that could not be read, none having been read in between.

    Attributes:
        since: monotonic seconds at which the first of them failed.
        is_away: a file that was read before cannot be read either.
    """

    since: float
    locations: set[str] = field(default_factory=set)
    is_away: bool = False


@dataclass(slots=True)
class SourceWatch:
    """Watches each bucket by itself; safe to use from threads. `clock` gives monotonic seconds.

    While a file that was read before can still be read, one that cannot is to blame for itself.

    Attributes:
        read_earlier: names a file of a bucket that was read before this leg; None where there is none, ResultsError
            where that cannot be said now.
    """

    files: Files
    stop: StopSwitch
    threshold: int
    patience_seconds: float
    clock: Callable[[], float] = time.monotonic
    read_earlier: Callable[[str], str | None] = lambda _root: None
    _streaks: dict[str, SourceStreak] = field(default_factory=dict)
    _last_read: dict[str, str | None] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _reading: threading.Lock = field(default_factory=threading.Lock)

    def was_read(self, location: str) -> None:
        """Take note of a file that could be read; those of this machine lie in no bucket."""
        if not is_bucket(location):
            return
        root, _ = root_and_key(location)
        with self._lock:
            self._last_read[root] = location
            self._streaks.pop(root, None)

    def is_worth_another_try(self, location: str, error: SourceError) -> bool:
        """Say whether an unreadable file may be had after the pause that this makes; False when it is itself to blame.

        Wait first. Then a few files are themselves to blame; `threshold` of them are not, nor is one file of a bucket
        that could be read before.

        Raises:
            RunMustStop: the bucket is away for every file, or the leg ends.
        """
        if error.reason not in _MAY_BE_THE_BUCKET:
            return False
        root, _ = root_and_key(location)
        was_away, can_be_read = self._count(root, location), self._last_can_be_read(root)
        with self._lock:
            streak = self._streaks.get(root)
            if can_be_read is True or streak is None:  # another file can be read
                self._streaks.pop(root, None)
                return was_away or streak is None
            streak.is_away = can_be_read is False
            is_waiting = self.clock() - streak.since < self.patience_seconds
            is_source = streak.is_away or len(streak.locations) >= self.threshold
        if is_waiting:
            self.files.buckets.reopen(location)
            self.stop.rest(min(_LONGEST_WAIT_SECONDS, self.patience_seconds / 4))
        elif is_source:
            self._end_leg(root, error)
        return is_waiting

    def _count(self, root: str, location: str) -> bool:
        """Count a failure; say whether the bucket was known to be away."""
        with self._lock:
            streak = self._streaks.setdefault(root, SourceStreak(self.clock()))
            streak.locations.add(location)
            return streak.is_away

    def _last_can_be_read(self, root: str) -> bool | None:
        """Ask for the facts of the file that was read last; None when there is none, or when it is gone."""
        location = self._last_location(root)
        try:
            return True if location is not None and self.files.facts(location) is not None else None
        except SourceError:
            return False

    def _last_location(self, root: str) -> str | None:
        """Name the file that was read last. One thread asks the results store; files that can be read go on."""
        with self._reading:
            with self._lock:
                if root in self._last_read:
                    return self._last_read[root]
            with suppress(ResultsError):  # it is asked again with the next failure
                earlier = self.read_earlier(root)
                with self._lock:
                    return self._last_read.setdefault(root, earlier)
        return None

    def _end_leg(self, root: str, error: SourceError) -> None:
        reason = RunMustStop(f"The source {root} cannot be read: {error.message}", ended_by="breaker")
        self.stop.pull(reason)
        raise reason
