"""Simulated time: what is to happen, in order."""

import heapq
from collections.abc import Callable
from itertools import count


class World:
    """Runs actions at their times; two of one time in the order in which they were put in. `now` is in seconds."""

    def __init__(self) -> None:
        self.now = 0.0
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._order = count()

    def at(self, time: float, action: Callable[[], None]) -> None:
        """Let something happen at a time that is not over."""
        heapq.heappush(self._due, (time, next(self._order), action))

    def run(self, until: float) -> None:
        """Let everything happen that is due until a time, and what comes of it."""
        while self._due and self._due[0][0] <= until:
            self.now, _, action = heapq.heappop(self._due)
            action()
        self.now = until
