"""Run something in a thread beside the work."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def beside(
    name: str, work: Callable[[threading.Event], None], on_error: Callable[[BaseException], None] | None = None
) -> Iterator[Callable[[], None]]:
    """Run `work(over)` in a daemon thread; at the end, set `over` and wait for the thread.

    An error in the thread is raised at the end, instead of one of the main work, which ends because of it.

    Args:
        name: of the thread.
        work: returns soon after its event is set.
        on_error: called at once when the thread fails, to end the main work too; None if that can go on without it.

    Yields:
        a function that ends the thread early; a second call does nothing.
    """
    over, errors = threading.Event(), list[BaseException]()

    def run() -> None:
        try:
            work(over)
        except BaseException as error:
            if on_error is None:
                raise
            errors.append(error)
            on_error(error)

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
