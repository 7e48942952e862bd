"""Look at the quota's headroom from time to time while a leg lasts.

Contract, Versioning 7: a probe of GET /partner/usage about every five minutes.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from proofsweep.usecases.leg.budget_guard import BudgetGuard


@contextmanager
def quota_watched(allowance: BudgetGuard, ask_seconds: float) -> Iterator[None]:
    """Ask for the headroom beside the work, in a thread of its own: a throttled question waits its turn."""
    over = threading.Event()

    def ask() -> None:
        while not over.wait(ask_seconds):
            allowance.ask()

    thread = threading.Thread(target=ask, name="quota", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
