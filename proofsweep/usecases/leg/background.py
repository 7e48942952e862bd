"""Run something in a thread beside the work."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def beside(name: str, work: Callable[[threading.Event], None]) -> Iterator[Callable[[], None]]:
    """Run `work(over)` in a daemon thread; at the end, set `over` and wait for the thread.

    Args:
        name: of the thread.
        work: returns soon after its event is set.

    Yields:
        a function that ends the thread early; a second call does nothing.
    """
    over = threading.Event()
    thread = threading.Thread(target=work, args=(over,), name=name, daemon=True)
    thread.start()

    def end() -> None:
        over.set()
        thread.join()

    try:
        yield end
    finally:
        end()
