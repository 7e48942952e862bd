"""One pass over a watched folder at a time, and ahead of the sweeps that use the same key."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from proofsweep.client.pacing.dispatcher import Dispatcher
from proofsweep.domain.runs import HEARTBEAT_SECONDS, Claim, ClockReading
from proofsweep.errors import NameTaken, ResultsError, RunIsActive
from proofsweep.storage.results.lane_claims import LaneClaim
from proofsweep.storage.results.legs import Legs
from proofsweep.usecases.item.item_work import Clock
from proofsweep.usecases.leg.background import beside


@dataclass(slots=True)
class PassClaim:
    """The claim of this process on a watched folder.

    Attributes:
        number: of the claim; the next process takes the next one.
    """

    claims: Legs
    number: int
    _lane: LaneClaim | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def ahead_of_sweeps(self, lane: LaneClaim) -> Iterator[None]:
        """Have the sweeps with the same key yield to the work inside.

        Raises:
            RunIsActive: another process has taken the folder over, because this one seemed dead.
        """
        if (last := self.claims.last()) != self.number:
            raise _active(self.claims.holder(last))
        lane.renew(self.claims.now())
        with self._lock:
            self._lane = lane
        try:
            yield
        finally:
            with self._lock:
                self._lane = None
            with suppress(ResultsError):  # then it is stale soon
                lane.release()

    def keep(self, over: threading.Event) -> None:
        """Renew what is claimed every ten seconds until `over` is set; a store that fails is asked again."""
        while not over.wait(HEARTBEAT_SECONDS):
            with suppress(ResultsError):
                self.claims.beat(self.number)
                with self._lock:
                    if self._lane is not None:
                        self._lane.renew(self.claims.now())


@contextmanager
def claimed_folder(claims: Legs, clock: Clock) -> Iterator[PassClaim]:
    """Hold the claim on a watched folder for the work inside.

    Raises:
        RunIsActive: another process holds it.
        ResultsError: the store cannot be used.
    """
    last = claims.last()
    if last and claims.is_active(last):
        raise _active(claims.holder(last))
    try:
        claims.claim(last + 1)
    except NameTaken as taken:
        raise _active(claims.holder(last + 1)) from taken
    claim = PassClaim(claims, last + 1)
    try:
        with beside("ingest", claim.keep):
            yield claim
    finally:
        with suppress(NameTaken):
            claims.write_receipt(claim.number, {"ended_at": clock().isoformat()})


def yield_to_ingest(lane: LaneClaim, floor_rate: float, dispatcher: Dispatcher, clock: Clock) -> None:
    """Keep a sweep to its floor rate while a pass with new files uses the same key; called at each heartbeat.

    Raises:
        ResultsError: the claim cannot be read.
    """
    is_held = lane.is_held(ClockReading(clock(), time.monotonic()))
    dispatcher.yield_to(floor_rate if is_held else None)


def _active(holder: Claim | None) -> RunIsActive:
    who = "another process" if holder is None else f"process {holder.pid} on {holder.host}"
    return RunIsActive(f"This folder is being worked on by {who}.")
