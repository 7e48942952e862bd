"""One pass over a watched folder at a time, and ahead of the sweeps that use the same key."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from proofsweep.errors import ResultsError
from proofsweep.model.runs import ClockReading
from proofsweep.model.tables.columns import Row
from proofsweep.partner.pacing.dispatcher import Dispatcher
from proofsweep.store.claims import LaneClaim
from proofsweep.store.lease import Lease, sole_process


@dataclass(slots=True)
class PassClaim:
    """The lease of this process on a watched folder.

    Attributes:
        number: of the term; the next process takes the next one.
    """

    lease: Lease
    number: int = 0
    _lane: LaneClaim | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def ahead_of_sweeps(self, lane: LaneClaim) -> Iterator[None]:
        """Have the sweeps with the same key yield to the work inside.

        Raises:
            RunIsActive: another process has taken the folder over, because this one seemed dead.
        """
        if self.lease.is_superseded(self.number):
            raise self.lease.active_error(self.lease.last())
        lane.renew(self.lease.now())
        with self._lock:
            self._lane = lane
        try:
            yield
        finally:
            with self._lock:
                self._lane = None
            with suppress(ResultsError):  # then it is stale soon
                lane.release()

    def renew_lane(self) -> None:
        """Renew the claim on the lane, if the sweeps are to yield now."""
        with self._lock:
            if self._lane is not None:
                self._lane.renew(self.lease.now())


@contextmanager
def claimed_folder(lease: Lease, facts: Row | None = None) -> Iterator[PassClaim]:
    """Hold a watched folder for the work inside; the claim has the `facts`.

    Raises:
        RunIsActive: another process holds it.
        ResultsError: the store cannot be used.
    """
    claim = PassClaim(lease)
    with sole_process(lease, claim.renew_lane, facts) as claim.number:
        yield claim


def yield_to_ingest(lane: LaneClaim, floor_rate: float, dispatcher: Dispatcher, now: ClockReading) -> None:
    """Keep a sweep to its floor rate while a pass with new files uses the same key; called at each heartbeat.

    Raises:
        ResultsError: the claim cannot be read.
    """
    dispatcher.yield_to(floor_rate if lane.is_held(now) else None)
