"""The threads that work on the items of a leg, and how many of them this machine has room for."""

import resource
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, ParamSpec, TypeVar

from proofsweep.config.threads import Future, Semaphore, ThreadPoolExecutor, get_ident

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
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._pool = ThreadPoolExecutor(most, thread_name_prefix="verify")
        self._items = deque[tuple[Future[Any], Callable[[], Any]]]()  # one for each task of the pool
        self._room = Semaphore(_AHEAD)
        self._ahead: set[int] = set()  # threads whose items are
        self._has_thread = self._is_over = False

    def submit(
        self, work: Callable[_Given, _Result], /, *args: _Given.args, **kwargs: _Given.kwargs
    ) -> Future[_Result]:
        """Have an item worked on, once there is room for it; RuntimeError after the end, or if no thread can start."""
        item = Future[_Result]()
        self._room.acquire()
        task = partial(work, *args, **kwargs)
        self._items.append((item, task))
        try:
            self._pool.submit(self._work_on_next)
            self._has_thread = True
        except RuntimeError:
            # Where the system has no other thread, the pool has queued its task all the same: one of the threads that
            # there are takes the item.
            if self._is_over or not self._has_thread:
                item.cancel()
                self._room.release()
                raise
        return item

    def _work_on_next(self) -> None:
        item, work = self._items.popleft()
        if not item.set_running_or_notify_cancel():
            return
        self._ahead.add(get_ident())
        try:
            item.set_result(work())
        except BaseException as error:  # noqa: BLE001 - raised where the result is asked for
            item.set_exception(error)
        finally:
            self.make_room()

    def make_room(self) -> None:
        """Let the next item start, since the caller's may call the service; once, and only on an item's own thread."""
        thread = get_ident()
        if thread in self._ahead:
            self._ahead.remove(thread)
            self._room.release()

    def shutdown(self) -> None:
        """Wait for the items that are worked on, and cancel the others."""
        self._is_over = True
        for item, _ in self._items.copy():
            item.cancel()
        self._pool.shutdown(wait=True, cancel_futures=True)


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
