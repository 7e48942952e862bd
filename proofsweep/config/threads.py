"""Threads and clocks: the one place of the core that knows either.

Other modules import them from here. So a simulation can give the whole core threads and clocks of its own.
"""

import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import islice
from threading import TIMEOUT_MAX, Condition, Event, Lock, RLock, Semaphore, Thread, Timer, get_ident, local
from time import monotonic, sleep
from typing import TypeVar

from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import RunMustStop

__all__ = [
    "TIMEOUT_MAX",
    "Condition",
    "Event",
    "Future",
    "Lock",
    "RLock",
    "Semaphore",
    "StopSwitch",
    "Thread",
    "ThreadPoolExecutor",
    "Timer",
    "background_thread",
    "get_ident",
    "local",
    "monotonic",
    "sleep",
    "some_at_once",
    "utc_now",
    "wait",
]

Item = TypeVar("Item")
Result = TypeVar("Result")


def utc_now() -> datetime:
    return datetime.now(UTC)


@contextmanager
def background_thread(
    name: str, work: Callable[[Event], None], stop: Callable[[RunMustStop], object] | None = None
) -> Iterator[Callable[[], None]]:
    """Run `work(over)` in a daemon thread; at the end, set `over` and wait for the thread. Yields what ends it early.

    An error in the thread calls `stop` at once, ends the main work, and is raised in place of the main work's own.
    Without `stop`, the main work goes on.
    """
    over, errors = Event(), list[BaseException]()

    def run() -> None:
        try:
            work(over)
        except BaseException as error:
            if stop is None:
                raise
            errors.append(error)
            broken = f"The thread {name} failed through a mistake of this program ({type(error).__name__})."
            stop(RunMustStop(broken, ended_by=EndedBy.ERROR))

    thread = Thread(target=run, name=name, daemon=True)
    thread.start()

    def end() -> None:
        over.set()
        thread.join()

    try:
        yield end
    finally:
        end()
        if errors:
            raise errors[0]


def some_at_once(items: Iterable[Item], work: Callable[[Item], Result], at_once: int) -> Iterator[Result]:
    """Yield the results in the items' order; after an error no other item is begun, and those begun are finished."""
    waiting = iter(items)
    begun = deque[Future[Result]]()
    with ThreadPoolExecutor(at_once) as pool:
        # Twice as many as work at once: so the threads have work while the first result is awaited.
        for item in islice(waiting, 2 * at_once):
            begun.append(pool.submit(work, item))
        try:
            while begun:
                yield begun.popleft().result()
                for item in islice(waiting, 1):
                    begun.append(pool.submit(work, item))
        finally:
            for future in begun:
                future.cancel()


class StopSwitch:
    """Keeps the first `reason` to stop. Thread-safe.

    Nothing is begun once it was pulled. What was begun goes on for `drain_seconds`, or until it is aborted.
    """

    def __init__(self) -> None:
        self._pulled, self._aborted = Event(), Event()
        self.reason: RunMustStop | None = None
        self.drain_seconds = 0.0
        self._drained_at = math.inf

    def pull(self, reason: RunMustStop) -> None:
        if self.reason is None:
            self._drained_at = min(self._drained_at, monotonic() + self.drain_seconds)
            self.reason = reason
        self._pulled.set()

    def abort(self) -> None:
        """Let all threads abandon their work in hand if the switch was pulled."""
        if self._pulled.is_set():
            self._aborted.set()

    @property
    def is_aborted(self) -> bool:
        return self._aborted.is_set()

    @property
    def drain_left_seconds(self) -> float:
        """How long work in hand may still go on; infinite while the switch was not pulled."""
        return max(0.0, self._drained_at - monotonic())

    def check(self) -> None:
        why = self.reason
        if why is not None:  # a new error: several threads may raise at once
            raise RunMustStop(why.message, ended_by=why.ended_by, quota_reset=why.quota_reset)

    def rest(self, seconds: float) -> None:
        """Wait, unless the leg ends; RunMustStop if the switch was pulled, before or while waiting."""
        self._pulled.wait(max(0.0, seconds))
        self.check()

    def rest_in_hand(self, seconds: float) -> None:
        """Wait with work in hand; RunMustStop if it is aborted, or the leg ends before the wait would be over."""
        due_at = monotonic() + seconds
        self._pulled.wait(max(0.0, seconds))
        left_seconds = max(0.0, due_at - monotonic())
        if left_seconds > self.drain_left_seconds or self._aborted.wait(left_seconds):
            self.check()
