"""Let one process at a time do something in a store: it holds a claim, and its heartbeat says that it is alive."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from proofsweep.domain.runs import HEARTBEAT_SECONDS
from proofsweep.errors import NameTaken, ResultsError, RunIsActive
from proofsweep.storage.results.legs import Legs
from proofsweep.usecases.leg.background import beside


@contextmanager
def sole_process(claims: Legs, busy: str) -> Iterator[None]:
    """Hold the next claim for the work inside.

    Raises:
        RunIsActive: another process holds one; `busy` says what that means.
        ResultsError: the store cannot be used.
    """
    last = claims.last()
    if last and claims.is_active(last):
        raise RunIsActive(busy)
    try:
        claims.claim(last + 1)
    except NameTaken as taken:
        raise RunIsActive(busy) from taken

    def keep(over: threading.Event) -> None:
        while not over.wait(HEARTBEAT_SECONDS):
            with suppress(ResultsError):  # the next one is soon
                claims.beat(last + 1)

    try:
        with beside("claim", keep):
            yield
    finally:
        with suppress(NameTaken):
            claims.write_receipt(last + 1, {"ended_at": claims.clock().isoformat()})
