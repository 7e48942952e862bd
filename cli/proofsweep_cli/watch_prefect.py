"""Notice that the Prefect server is lost during a run: Prefect's own client would try for minutes."""

import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial

from proofsweep.config.threads import background_thread
from proofsweep.wiring.engines import active_leg
from proofsweep_cli.embedded_server import is_there

_CHECK_SECONDS = 0.5
_LOST_SECONDS = 5.0  # of silence, after which a server is lost


def prefect_watched(on_lost: Callable[[], object]) -> AbstractContextManager[object]:
    """Call `on_lost` in another thread if the leg is settled and the work still waits for a server that is lost."""
    return background_thread("watch-prefect", partial(_watch, on_lost))


def _watch(on_lost: Callable[[], object], over: threading.Event) -> None:
    has_begun, answered_at = False, time.monotonic()
    while not over.wait(_CHECK_SECONDS):
        is_active = active_leg() is not None
        has_begun = has_begun or is_active
        if not has_begun or is_active or is_there(_api_url()):
            answered_at = time.monotonic()
        elif time.monotonic() - answered_at >= _LOST_SECONDS:
            on_lost()
            return


def _api_url() -> str:
    from prefect.settings import PREFECT_API_URL  # noqa: PLC0415 - seconds to import

    return str(PREFECT_API_URL.value())
