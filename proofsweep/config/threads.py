"""Run something in a thread beside the work, or one work on many items at once."""

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import islice
from typing import TypeVar

from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import RunMustStop

Item = TypeVar("Item")
Result = TypeVar("Result")


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


def some_at_once(items: Iterable[Item], work: Callable[[Item], Result], at_once: int) -> Iterator[Result]:
    """Yield the results in the items' order; after an error no other item is begun, and those begun are finished."""
    waiting = iter(items)
    with ThreadPoolExecutor(at_once) as pool:
        begun: deque[Future[Result]] = deque(pool.submit(work, item) for item in islice(waiting, 2 * at_once))
        try:
            while begun:
                yield begun.popleft().result()
                begun.extend(pool.submit(work, item) for item in islice(waiting, 1))
        finally:
            for future in begun:
                future.cancel()
