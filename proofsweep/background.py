"""Run something in a thread beside the work."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from proofsweep.endings import EndedBy
from proofsweep.errors import RunMustStop


@contextmanager
def background_thread(
    name: str, work: Callable[[threading.Event], None], stop: Callable[[RunMustStop], object] | None = None
) -> Iterator[Callable[[], None]]:
    """Run `work(over)` in a daemon thread; at the end, set `over` and wait for the thread. Yields what ends it early.

    An error in the thread ends the main work, and is raised in place of the main work's own. It calls `stop` at once;
    without it the main work goes on.
    """
    over, errors = threading.Event(), list[BaseException]()

    def run() -> None:
        try:
            work(over)
        except BaseException as error:
            if stop is None:
                raise
            errors.append(error)
            broken = f"The thread {name} failed through a mistake of this program ({type(error).__name__})."
            stop(RunMustStop(broken, ended_by=EndedBy.ERROR))

    thread = threading.Thread(target=run, name=name, daemon=True)
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
