"""The threads that work on the items of a leg, and how many of them this machine has room for."""

import resource
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, ParamSpec, TypeVar

from proofsweep.config.threads import Future, Lock, Semaphore, Thread, get_ident

_AHEAD = 8  # items whose files are opened before the service lets their first call go
# What one worker holds open at most: its connections to the API, to the storage and for a download, and the audio.
# Measured: 3 for each with local files, no download and 20 workers.
_FILES_OF_A_WORKER = 4
_FILES_OF_THE_PROCESS = 64  # all else: journal, Prefect, DuckDB, wakeups. Measured: 27 with one worker
_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")


class Workers:
    """Works on items in the order of their submission, each on a thread.

    An item is *ahead* from its submission until its first call may go, or until it makes room for another reason. Only
    a few items may be ahead: who submits the next one waits until one of them makes room or ends. So a narrow lane
    needs few threads, and a wide one as many as its rate times the time that an item takes.

    A read of a share whose server is gone may keep a thread for hours. Such an item is given up: nobody waits for it,
    and another thread takes the place of its own. The threads are daemons, so that none keeps the process from ending.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._items = deque[tuple[Future[Any], Callable[[], Any]]]()
        self._queued, self._ended = Semaphore(0), Semaphore(0)
        self._room = Semaphore(_AHEAD)
        self._ahead: set[int] = set()  # threads whose items are
        self._at_work: dict[int, Future[Any]] = {}  # by thread, what was not given up
        self._lock = Lock()
        self._threads = self._busy = 0  # that work or wait for work; that work
        self._most_threads = most
        self._is_over = False

    def submit(
        self, work: Callable[_Given, _Result], /, *args: _Given.args, **kwargs: _Given.kwargs
    ) -> Future[_Result | None]:
        """Have an item worked on, once there is room for it; RuntimeError after the end, or if no thread can start.

        None is the result of one that was given up.
        """
        item = Future[_Result | None]()
        self._room.acquire()
        with self._lock:
            try:
                is_short = len(self._items) >= self._threads - self._busy
                if is_short and not self._is_over and self._threads < self._most_threads:
                    Thread(target=self._work, name="verify", daemon=True).start()
                    self._threads += 1
            except RuntimeError:
                # Where the system has no other thread, one of those that there are takes the item.
                if not self._threads:
                    self._room.release()
                    raise
            if self._is_over:
                self._room.release()
                raise RuntimeError("The workers have ended.")
            self._items.append((item, partial(work, *args, **kwargs)))
        self._queued.release()
        return item

    def await_beside(self, work: Callable[[], _Result]) -> _Result | None:
        """Do something else than an item on one thread more, and wait for it; None if it was given up."""
        self._most_threads = self.most + 1
        return self.submit(work).result()

    def make_room(self, thread: int | None = None) -> None:
        """Let the next item start, since that of a thread, or of the caller's, may call the service; once for each."""
        with suppress(KeyError):
            self._ahead.remove(thread or get_ident())
            self._room.release()

    def at_work(self, thread: int) -> Future[Any] | None:
        """Return what a thread works on and was not given up."""
        return self._at_work.get(thread)

    def give_up(self, thread: int, item: Future[Any]) -> bool:
        """Let nobody wait for what a thread works on; return whether it still did."""
        with self._lock:
            if self._at_work.get(thread) is not item:
                return False
            del self._at_work[thread]
            self._busy -= 1
            try:
                Thread(target=self._work, name="verify", daemon=True).start()
            except RuntimeError:
                self._threads -= 1
        item.set_result(None)
        self.make_room(thread)
        return True

    def give_up_all(self) -> None:
        for thread, item in self._at_work.copy().items():
            self.give_up(thread, item)

    def shutdown(self) -> None:
        """Wait for the items that are worked on and were not given up, and cancel the others."""
        with self._lock:
            self._is_over = True
            threads, self._threads = self._threads, 0
        for item, _ in self._items.copy():
            item.cancel()
        for _ in range(threads):
            self._queued.release()
        for _ in range(threads):
            self._ended.acquire()

    def _work(self) -> None:
        """Work on one item after the other, until the end or until one is given up."""
        thread, is_own = get_ident(), True
        while is_own:
            self._queued.acquire()
            with self._lock:
                if not self._items:  # the end
                    self._ended.release()
                    return
                item, work = self._items.popleft()
                self._busy += 1
            if item.set_running_or_notify_cancel():
                self._ahead.add(thread)
                self._at_work[thread] = item
                result, failed = None, None
                try:
                    result = work()
                except BaseException as error:  # noqa: BLE001 - raised where the result is asked for
                    failed = error
                with self._lock:
                    is_own = self._at_work.get(thread) is item
                    if is_own:
                        del self._at_work[thread]
                        self._busy -= 1
                if is_own:
                    self.make_room()
                    if failed is None:
                        item.set_result(result)
                    else:
                        item.set_exception(failed)
                result = failed = None
            else:
                with self._lock:
                    self._busy -= 1
            del item, work


def workers_that_fit(wanted: int) -> int:
    """Return how many of the wanted workers have room for all that they open; at least one.

    The limit of open files is raised as far as the system allows without a privilege.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):  # macOS names a limit that it does not accept
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return wanted
    most = (soft - _FILES_OF_THE_PROCESS) // _FILES_OF_A_WORKER
    return max(1, min(wanted, most))
