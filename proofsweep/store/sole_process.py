"""Let one process at a time do something: it holds the lease, and renews it beside the work."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from proofsweep.errors import NameTaken, ResultsError
from proofsweep.model.runs import HEARTBEAT_SECONDS
from proofsweep.model.tables.columns import Row
from proofsweep.store.background import beside
from proofsweep.store.lease import Lease


@contextmanager
def sole_process(lease: Lease, on_beat: Callable[[], None] = lambda: None, facts: Row | None = None) -> Iterator[int]:
    """Hold the next term of a lease for the work inside; its number is given.

    Args:
        lease: of what is worked on.
        on_beat: called with each heartbeat; a store that fails is asked again at the next one.
        facts: what another process must know of the work if this one is killed.

    Raises:
        RunIsActive: another process holds it.
        ResultsError: the store cannot be used.
    """
    number = lease.last_inactive() + 1
    lease.claim(number, facts)

    def keep(over: threading.Event) -> None:
        while not over.wait(HEARTBEAT_SECONDS):
            with suppress(ResultsError):
                lease.beat(number)
                on_beat()

    try:
        with beside("lease", keep):
            yield number
    finally:
        with suppress(NameTaken):
            lease.write_receipt(number, {"ended_at": lease.clock().isoformat()})
