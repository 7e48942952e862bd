"""The strange outcomes of one process of a leg that wait for a control; safe to use from several threads."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from proofsweep.model.items import Mode
from proofsweep.model.outcomes import Failed, Finished
from proofsweep.model.tables.columns import Row
from proofsweep.verify.control.rules import Streaks, Subject


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
    """Those that wait, in the order in which they came.

    Attributes:
        put_aside: rows that were tried, and are not written.
        refused_again: rows that were refused although the same bytes were accepted before.
        tries_in_a_row: failed tries since the last row that was written.
    """

    put_aside: set[int] = field(default_factory=set)
    refused_again: set[int] = field(default_factory=set)
    tries_in_a_row: int = 0
    _waiting: list[Suspect] = field(default_factory=list)
    _streaks: Streaks = field(default_factory=Streaks)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, done: Finished) -> int:
        """Take note of an outcome; return how many refusals of its mode came alike in a row."""
        with self._lock:
            return self._streaks.note(done)

    def failures_alike(self, mode: Mode) -> int:
        """Return how many items of a mode failed alike in a row."""
        return self._streaks.failures(mode)

    def add(self, suspect: Suspect) -> None:
        """Let an outcome wait."""
        with self._lock:
            self._waiting.append(suspect)
            self.put_aside.add(suspect.done.item.manifest_row)
            self.tries_in_a_row += isinstance(suspect.done.outcome, Failed)

    def take(self, is_wanted: Callable[[Suspect], bool] = lambda _suspect: True) -> list[Suspect]:
        """Take some that wait, or all; their rows are put aside until they are written."""
        with self._lock:
            taken = [each for each in self._waiting if is_wanted(each)]
            self._waiting = [each for each in self._waiting if not is_wanted(each)]
        return taken

    def was_written(self, row: int) -> None:
        """Take note of a row that was written."""
        with self._lock:
            self.tries_in_a_row = 0
            self.put_aside.discard(row)

    def subjects(self) -> set[Subject]:
        """Return what those that wait make doubtful."""
        return {each.subject for each in self._waiting}
