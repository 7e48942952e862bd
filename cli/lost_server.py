"""What to do when the Prefect server goes away in mid-run: its client would go on asking for minutes."""

import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial

from cli.embedded_server import is_there
from proofsweep.bootstrap.runs import active_legs
from proofsweep.usecases.leg.background import beside

_LOOK_SECONDS = 0.5
_PATIENCE_SECONDS = 5.0


def not_kept_waiting(leave: Callable[[], object]) -> AbstractContextManager[object]:
    """Call `leave`, in another thread, if the work inside has its leg settled but waits for a server that is gone."""
    return beside("lost-server", partial(_watch, leave))


def _watch(leave: Callable[[], object], over: threading.Event) -> None:
    was_begun, answered_at = False, time.monotonic()
    while not over.wait(_LOOK_SECONDS):
        was_begun = was_begun or bool(active_legs())
        if not was_begun or active_legs() or is_there(_api_url()):
            answered_at = time.monotonic()
        elif time.monotonic() - answered_at >= _PATIENCE_SECONDS:
            leave()
            return


def _api_url() -> str:
    from prefect.settings import PREFECT_API_URL  # noqa: PLC0415 - seconds to import

    return str(PREFECT_API_URL.value())
