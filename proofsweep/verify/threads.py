"""The threads that items are verified on: as many as the service has use for."""

import resource
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import ParamSpec, TypeVar

_AHEAD = 8  # items whose files are opened before the service lets their first call go
# What one worker holds open at most: its connections to the API, to the storage and for a download, and the audio.
# Measured: 3 for each with local files, no download and 20 workers.
_FILES_OF_A_WORKER = 4
_FILES_OF_THE_PROCESS = 64  # all else: journal, Prefect, DuckDB, wakeups. Measured: 27 with one worker
_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")


class _ThreadState(threading.local):
    is_ahead = False


class Workers(ThreadPoolExecutor):
    """Works on items in the order of their submission, each on a thread.

    An item is *ahead* from its submission until its first call may go, or until it makes room for another reason. Only
    a few items may be ahead: who submits the next one waits until one of them makes room or ends. So a narrow lane
    needs few threads, and a wide one as many as its rate times the time that an item takes.
    """

    def __init__(self, most: int) -> None:
        super().__init__(most, thread_name_prefix="verify")
        self.most = most
        self._room = threading.Semaphore(_AHEAD)
        self._own = _ThreadState()

    def submit(
        self, work: Callable[_Given, _Result], /, *args: _Given.args, **kwargs: _Given.kwargs
    ) -> Future[_Result]:
        """Have an item worked on, once there is room for it; RuntimeError after the end, or if no thread can start."""

        def worked() -> _Result:
            self._own.is_ahead = True
            try:
                return work(*args, **kwargs)
            finally:
                self.make_room()

        self._room.acquire()
        try:
            return super().submit(worked)
        except RuntimeError:
            self._room.release()
            raise

    def make_room(self) -> None:
        """Let the next item start, since the caller's may call the service; once, and only on an item's own thread."""
        if self._own.is_ahead:
            self._own.is_ahead = False
            self._room.release()

    def _adjust_thread_count(self) -> None:
        """Start a thread if it is of use; where the system has no other, the item waits for those that there are."""
        try:
            super()._adjust_thread_count()
        except RuntimeError:
            if not self._threads:
                raise


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
