"""A link that all uploads share evenly, each up to what one connection carries."""

import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass, field

from benchmarks.simulation.event_queue import EventQueue

# Uploads that end within so short a time end together: simulated time cannot tell much less apart after some days.
_SAME_END_SECONDS = 1e-9
# And those whose ends differ by so small a share of what was sent: a few times the precision of a float.
_SAME_SIZE = 1e-15


@dataclass(slots=True, kw_only=True)
class Uplink:
    """The link; sizes and speeds are in one unit, such as megabytes or bytes, and in that unit per second.

    Attributes:
        speed: what it carries; infinite if it is never full.
        most_each: what one upload carries at most.
        carried: what it has carried until the last change.
    """

    events: EventQueue
    speed: float
    most_each: float = math.inf
    carried: float = 0.0
    _each: float = 0.0  # what an upload that was there from the beginning would have sent
    _at: float = 0.0
    _ends: list[tuple[float, int, float, Callable[[float], None]]] = field(default_factory=list)
    _order: int = 0
    _wake: int = 0

    def send(self, size: float, uploaded: Callable[[float], None]) -> None:
        """Begin an upload, and tell its size when it is done."""
        self._pass()
        self._order += 1
        heapq.heappush(self._ends, (self._each + size, self._order, size, uploaded))
        self._plan()

    @property
    def _speed_of_each(self) -> float:
        return min(self.most_each, self.speed / len(self._ends))

    def _pass(self) -> None:
        if self._ends:
            sent = (self.events.now - self._at) * self._speed_of_each
            self._each += sent
            self.carried += sent * len(self._ends)
        self._at = self.events.now

    def _plan(self) -> None:
        self._wake += 1
        if self._ends:
            wake, seconds = self._wake, (self._ends[0][0] - self._each) / self._speed_of_each
            self.events.at(self.events.now + max(0.0, seconds), lambda: self._finish(wake))

    def _finish(self, wake: int) -> None:
        if wake != self._wake:
            return
        self._pass()
        done, end = [], self._each * (1.0 + _SAME_SIZE) + _SAME_END_SECONDS * self._speed_of_each
        while self._ends and self._ends[0][0] <= end:
            done.append(heapq.heappop(self._ends)[2:])
        self._plan()
        for size, uploaded in done:
            uploaded(size)
