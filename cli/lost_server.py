"""What to do when the Prefect server goes away in mid-run: its client would go on asking for minutes."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from cli.embedded_server import is_there
from proofsweep.bootstrap.runs import desks

_LOOK_SECONDS = 0.5
_PATIENCE_SECONDS = 5.0


@contextmanager
def not_kept_waiting(leave: Callable[[], object]) -> Iterator[None]:
    """Call `leave`, in another thread, if the work inside has its leg settled but waits for a server that is gone."""
    over = threading.Event()
    thread = threading.Thread(target=_watch, args=(over, leave), name="lost-server", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _watch(over: threading.Event, leave: Callable[[], object]) -> None:
    was_begun, answered_at = False, time.monotonic()
    while not over.wait(_LOOK_SECONDS):
        was_begun = was_begun or bool(desks())
        if not was_begun or desks() or is_there(_api_url()):
            answered_at = time.monotonic()
        elif time.monotonic() - answered_at >= _PATIENCE_SECONDS:
            leave()
            return


def _api_url() -> str:
    from prefect.settings import PREFECT_API_URL  # noqa: PLC0415 - seconds to import

    return str(PREFECT_API_URL.value())
