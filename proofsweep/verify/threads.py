"""Threads that start when items need them, and end when they are idle for a while."""

import resource
import sys
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor, Future
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, ParamSpec, TypeVar

_AHEAD = 8  # items whose files are opened before the service lets their first call go
_IDLE_SECONDS = 20.0  # after which a thread ends
# What one worker holds open at most: its connections to the API, to the storage and for a download, and the audio.
# Measured: 3 for each with local files, no download and 20 workers.
_FILES_OF_A_WORKER = 4
_FILES_OF_THE_PROCESS = 64  # all else: journal, Prefect, DuckDB, wakeups. Measured: 27 with one worker
_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class _Task:
    future: Future[Any]
    work: Callable[[], object]


class _ThreadState(threading.local):
    is_ahead = False


class Workers(Executor):
    """Works on items in the order of their submission, each on a thread.

    An item is *ahead* from its start until its first call may go, or until it makes room for another reason. Only a few
    items may be ahead: the next one starts when one of them makes room or ends. So a narrow lane needs few threads, and
    a wide one as many as its rate times the time that an item takes.
    """

    def __init__(self, most: int, *, release: Callable[[], None] = lambda: None) -> None:
        """Begin without a thread; each calls `release` when it ends."""
        self.most = most
        self._release = release
        self._lock = threading.Lock()
        self._tasks: deque[_Task] = deque()
        self._threads: set[threading.Thread] = set()
        self._idle: list[SimpleQueue[_Task | None]] = []
        self._ahead, self._most_ahead = 0, _AHEAD
        self._own = _ThreadState()
        self._is_closed = False

    def submit(
        self, work: Callable[_Given, _Result], /, *args: _Given.args, **kwargs: _Given.kwargs
    ) -> Future[_Result]:
        future: Future[_Result] = Future()
        with self._lock:
            if self._is_closed:
                raise RuntimeError("no work is taken after shutdown")
            self._tasks.append(_Task(future, partial(work, *args, **kwargs)))
            self._begin()
        return future

    def make_room(self, waiting: int = 1) -> None:
        """Let the next item start, since the caller's may call the service; without effect outside of an item's thread.

        `waiting` other items are ready to call. If there is none, files take long to open and more must be ahead.
        """
        if not self._own.is_ahead:
            return
        self._own.is_ahead = False
        with self._lock:
            more = (waiting == 0) - (waiting > _AHEAD)
            self._most_ahead = max(_AHEAD, min(self.most, self._most_ahead + more))
            self._ahead -= 1
            self._begin()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more work; the threads end when the submitted work is done or cancelled."""
        with self._lock:
            self._is_closed = True
            cancelled = list(self._tasks) if cancel_futures else []
            if cancel_futures:
                self._tasks.clear()
            for inbox in self._idle:
                inbox.put(None)
            self._idle.clear()
            threads = list(self._threads) if wait else []
        for task in cancelled:
            task.future.cancel()
        for thread in threads:
            thread.join()

    @property
    def threads(self) -> int:
        return len(self._threads)

    def _begin(self) -> None:
        """Give items to threads while there is room; under the lock.

        The thread with the shortest idle time comes first, so that a thread that is not needed stays idle and ends. If
        the system has no other thread, the item waits for the ones that exist; it fails only if there is none.
        """
        while self._idle or len(self._threads) < self.most:
            task = self._next_task()
            if task is None:
                return
            if self._idle:
                self._idle.pop().put(task)
                continue
            thread = threading.Thread(target=self._work_on, args=(task,), name="verify")
            self._threads.add(thread)
            try:
                thread.start()
            except RuntimeError as error:
                self._threads.discard(thread)
                self._ahead -= 1
                if self._threads:
                    self._tasks.appendleft(task)
                    return
                if task.future.set_running_or_notify_cancel():
                    task.future.set_exception(error)

    def _next_task(self) -> _Task | None:
        if not self._tasks or self._ahead >= self._most_ahead:
            return None
        self._ahead += 1
        return self._tasks.popleft()

    def _work_on(self, task: _Task | None) -> None:
        inbox: SimpleQueue[_Task | None] = SimpleQueue()
        while task is not None:
            self._own.is_ahead = True
            if task.future.set_running_or_notify_cancel():
                try:
                    result = task.work()
                except BaseException as error:  # noqa: BLE001 - raised where the result is read
                    task.future.set_exception(error)
                else:
                    task.future.set_result(result)
            task = self._another(inbox)
        self._release()

    def _another(self, inbox: "SimpleQueue[_Task | None]") -> _Task | None:
        with self._lock:
            self._ahead -= self._own.is_ahead
            task = self._next_task()
            if task is not None:
                return task
            if self._is_closed:
                self._threads.discard(threading.current_thread())
                return None
            self._idle.append(inbox)
        try:
            return inbox.get(timeout=_IDLE_SECONDS)
        except Empty:
            with self._lock:
                if inbox not in self._idle:  # a task came at the last moment
                    return inbox.get()
                self._idle.remove(inbox)
                self._threads.discard(threading.current_thread())
                return None


def workers_that_fit(wanted: int, open_files: int) -> int:
    """Return how many of the wanted workers have room for all that they open; at least one."""
    return max(1, min(wanted, (open_files - _FILES_OF_THE_PROCESS) // _FILES_OF_A_WORKER))


def most_open_files() -> int:
    """Raise the limit of open files as far as the system allows without a privilege, and return it."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):  # macOS names a limit that it does not accept
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return sys.maxsize if soft == resource.RLIM_INFINITY else soft
