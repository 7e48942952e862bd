"""What lies between the client and the service: a machine that stalls, and a link that all uploads share."""

import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from benchmarks.simulation.event_queue import EventQueue

# The bounds of a stall, as on a machine that swaps or that others use.
_SHORTEST_STALL_SECONDS = 0.2
_LONGEST_STALL_SECONDS = 3.0


@dataclass(slots=True)
class Stalls:
    """Times in which a machine does nothing; `per_minute` of them on average. Times must not decrease."""

    per_minute: float = 0.0
    chance: Random = field(default_factory=lambda: Random(0))
    _begin: float = 0.0
    _end: float = 0.0

    def end_after(self, now: float) -> float:
        """Return the end of the stall of this time, or the time itself if there is none."""
        while self.per_minute and self._end <= now:
            self._begin = self._end + self.chance.expovariate(self.per_minute / 60)
            self._end = self._begin + self.chance.uniform(_SHORTEST_STALL_SECONDS, _LONGEST_STALL_SECONDS)
        return self._end if self._begin <= now < self._end else now


@dataclass(slots=True, kw_only=True)
class Uplink:
    """A link that all uploads share evenly.

    Attributes:
        megabytes_per_second: what it carries.
        sizes: the bounds of a file's size in megabytes.
        carried: megabytes carried until the last change.
    """

    events: EventQueue
    chance: Random
    megabytes_per_second: float
    sizes: tuple[float, float]
    carried: float = 0.0
    _each: float = 0.0  # megabytes that an upload that was there from the beginning would have sent
    _at: float = 0.0
    _ends: list[tuple[float, int, float, Callable[[float], None]]] = field(default_factory=list)
    _order: int = 0
    _wake: int = 0

    def send(self, uploaded: Callable[[float], None]) -> None:
        """Begin an upload, and tell its size in megabytes when it is done."""
        self._pass()
        least, most = self.sizes
        size = least * (most / least) ** self.chance.random()
        self._order += 1
        heapq.heappush(self._ends, (self._each + size, self._order, size, uploaded))
        self._plan()

    def _pass(self) -> None:
        if self._ends:
            sent = (self.events.now - self._at) * self.megabytes_per_second
            self._each += sent / len(self._ends)
            self.carried += sent
        self._at = self.events.now

    def _plan(self) -> None:
        self._wake += 1
        if self._ends:
            wake, seconds = self._wake, (self._ends[0][0] - self._each) * len(self._ends) / self.megabytes_per_second
            self.events.at(self.events.now + max(0.0, seconds), lambda: self._finish(wake))

    def _finish(self, wake: int) -> None:
        if wake != self._wake:
            return
        self._pass()
        done = []
        while self._ends and self._ends[0][0] <= math.nextafter(self._each, math.inf) + 1e-9:
            done.append(heapq.heappop(self._ends)[2:])
        self._plan()
        for size, uploaded in done:
            uploaded(size)
