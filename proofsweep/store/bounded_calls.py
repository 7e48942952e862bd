"""Calls of a results store that are not waited for without end.

A hard NFS mount, or a bucket that answers byte by byte, may keep a thread for hours, and no signal frees it. So each
call is made by a thread of its own, and a caller who waited too long hears that the store is away, as of any store that
fails. What hangs is left behind; the threads are daemons, so that it keeps no process from ending.
"""

import math
from collections import deque
from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from proofsweep.config.threads import Future, Semaphore, Thread, local
from proofsweep.domain.errors import ResultsError

Given = ParamSpec("Given")
Result = TypeVar("Result")

# A bucket's client needs up to thirty seconds until it reports that nothing answers.
ANSWER_SECONDS = 40.0
_SECONDS_WHILE_ONE_HANGS = 5.0  # for another call
_MOST_HANGING = 16  # calls: as many as go to a store at once
_SLOWEST_BYTES = 256 * 1024  # a second, of what is written


class BoundedCalls:
    """The threads that call one store; a caller whose call hangs gets the `complaint`."""

    def __init__(self, complaint: str) -> None:
        self._complaint = complaint
        self._asked = deque[tuple[Future[Any], Callable[[], Any]]]()
        self._waiting, self._idle = Semaphore(0), Semaphore(0)
        self._hanging = set[Future[Any]]()
        self._here = local()

    def run(self, call: Callable[[], Result], content_bytes: int = 0) -> Result:
        """Make a call; ResultsError if it is not over in time. It may still happen after that."""
        if getattr(self._here, "is_caller", False):  # a call of the store that is part of another one
            return call()
        # Each call that hangs keeps a thread, for as long as the store is away: others fail at once then.
        if len(self._hanging) >= _MOST_HANGING:
            raise ResultsError(self._complaint, is_outage=True)
        future = Future[Result]()
        if not self._idle.acquire(blocking=False):
            Thread(target=self._work, name="store", daemon=True).start()
        self._asked.append((future, call))
        self._waiting.release()
        # A store that hangs was waited for already: other callers hear of it sooner.
        seconds = _SECONDS_WHILE_ONE_HANGS if self._hanging else ANSWER_SECONDS
        seconds += content_bytes / _SLOWEST_BYTES
        # Second by second: a process that was frozen meanwhile finds that all the time is over, and has waited for one.
        for _ in range(math.ceil(seconds)):
            try:
                return future.result(1.0)
            except TimeoutError:
                if future.done():  # just now, or the call itself has raised it
                    return future.result()
        self._hanging.add(future)
        future.add_done_callback(self._hanging.discard)
        raise ResultsError(self._complaint, is_outage=True)

    def _work(self) -> None:
        """Make one call after another, as long as the process lives."""
        self._here.is_caller = True
        while True:
            self._waiting.acquire()
            future, call = self._asked.popleft()
            try:
                result = call()
            except BaseException as error:  # noqa: BLE001 - the caller's matter
                future.set_exception(error)
            else:
                future.set_result(result)
            del future, call
            self._idle.release()


def bounded(method: Callable[Concatenate[Any, Given], Result]) -> Callable[Concatenate[Any, Given], Result]:
    """Let the `calls` of a store make its calls of this method."""

    @wraps(method)
    def call(store: Any, /, *given: Given.args, **named: Given.kwargs) -> Result:  # noqa: ANN401 - of either kind
        calls: BoundedCalls = store.calls
        size = sum(len(content) for content in given if isinstance(content, bytes))
        return calls.run(lambda: method(store, *given, **named), size)

    return call
