"""One question asked on behalf of many, such as how many calls the key has left."""

import threading
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Generic, TypeVar

_Answer = TypeVar("_Answer")


class SingleFlight(Generic[_Answer]):
    """Thread-safe. A whole volley of callers wants the same answer, and each asking costs a call itself."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._asked_at = datetime.min.replace(tzinfo=UTC)
        self._answers: list[_Answer] = []

    def answer(self, since: datetime, ask: Callable[[], _Answer]) -> _Answer:
        """Give the answer to the question as it was asked at or after `since`: had already, or asked for now."""
        with self._lock:
            now = datetime.now(UTC)
            if not since <= self._asked_at <= now:  # it lies ahead when the clock was put back meanwhile
                self._answers = [ask()]
                self._asked_at = now
            return self._answers[0]
