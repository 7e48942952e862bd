"""How many calls an operation may still make."""

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import islice
from typing import TypeVar

from proofsweep.endings import EndedBy
from proofsweep.errors import CallFailed, RunMustStop
from proofsweep.operations.operation_log import OperationLog
from proofsweep.partner.partner import Partner


class CallBudget:
    """Keyed calls left to an operation, of `most` in all (None: any number), earlier ones included. Thread-safe."""

    def __init__(self, log: OperationLog, most: int | None, ended_by: EndedBy = EndedBy.WINDOW) -> None:
        """Begin; `ended_by` says what it means that none is left: a bound that was given, or the quota."""
        self.most = most
        self._log = log
        self._ended_by = ended_by
        self._promised = 0
        self._lock = threading.Lock()

    @contextmanager
    def promised(self) -> Iterator[None]:
        """Promise a call to the work inside, at whose end the log has counted it; RunMustStop if none is left."""
        with self._lock:
            if self.most is not None and self._log.counts.calls + self._promised >= self.most:
                what = "that the quota leaves" if self._ended_by is EndedBy.QUOTA else "that it was given"
                raise RunMustStop(f"Of the {self.most:,} calls {what}, none are left.", ended_by=self._ended_by)
            self._promised += 1
        try:
            yield
        finally:
            with self._lock:
                self._promised -= 1


# Chosen: any value from 5 to 20 does.
_MOST_FAILURES = 10


class OutageGuard:
    """Stops an operation after too many failed calls in a row. Thread-safe."""

    def __init__(self, partner: Partner, most_failures: int = _MOST_FAILURES) -> None:
        self._stop = partner.session.stop
        self._most_failures = most_failures
        self._in_a_row = 0
        self._lock = threading.Lock()

    def answered(self) -> None:
        """Take note of an answer; a refusal of one item is one too."""
        with self._lock:
            self._in_a_row = 0

    def failed(self, error: CallFailed) -> None:
        """Take note of a call that failed for good; RunMustStop if the service fails for all."""
        if error.reason.startswith("http_4"):
            self.answered()
            return
        with self._lock:
            self._in_a_row += 1
            is_outage = self._in_a_row >= self._most_failures
        if is_outage:
            self._stop.pull(RunMustStop(f"The service fails for everything: {error.message}", ended_by=EndedBy.BREAKER))
            self._stop.check()


# Calls that wait for an answer at once. Chosen: a service that answers in 100 ms gives 80 a second, which is above the
# lanes that were seen.
_AT_ONCE = 8

Item = TypeVar("Item")
Result = TypeVar("Result")


def some_at_once(items: Iterable[Item], work: Callable[[Item], Result]) -> Iterator[Result]:
    """Yield the results in the items' order; after an error no other item is begun, and those begun are finished."""
    waiting = iter(items)
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        begun: deque[Future[Result]] = deque(pool.submit(work, item) for item in islice(waiting, 2 * _AT_ONCE))
        try:
            while begun:
                yield begun.popleft().result()
                begun.extend(pool.submit(work, item) for item in islice(waiting, 1))
        finally:
            for future in begun:
                future.cancel()
