"""Simulated time: a queue of actions in the order of their times."""

import heapq
from collections.abc import Callable
from itertools import count


class EventQueue:
    """Runs actions at their times; actions with the same time run in the order of `at`. `now` is in seconds."""

    def __init__(self) -> None:
        self.now = 0.0
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._order = count()

    def at(self, time: float, action: Callable[[], None]) -> None:
        """Run an action at a time that has not passed."""
        heapq.heappush(self._due, (time, next(self._order), action))

    def run(self, until: float) -> None:
        """Run all actions that are due until a time, and the actions that these add."""
        while self._due and self._due[0][0] <= until:
            self.now, _, action = heapq.heappop(self._due)
            action()
        self.now = until
