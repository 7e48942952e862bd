"""The thread that keeps a leg alive: it writes down what was finished, and hears who asks the leg to stop."""

import math
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime

from proofsweep.client.stop import StopSwitch
from proofsweep.config.logs import Event, log
from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import ProofsweepError, ResultsError, RunMustStop
from proofsweep.store.journal import FLUSH_SECONDS
from proofsweep.store.lease import HEARTBEAT_SECONDS
from proofsweep.store.legs import Legs
from proofsweep.store.progress import LegProgress
from proofsweep.verify.budget import Budget

# A bucket's client tries again for longer than this before it reports a failure. Items that begin meanwhile cannot be
# written down: half of it stops work for a slow write, twice as long risks twice the work.
_SLOW_WRITE_SECONDS = 5.0
_LOOK_SECONDS = 4.0  # bounds the requests to a bucket, and how late a request to stop is seen


@dataclass(slots=True, kw_only=True)
class Heartbeat:
    """Shows that one leg is alive, that what it does can be written down, and that nobody asked it to stop."""

    legs: Legs
    leg: int
    flush: Callable[[], None]  # makes durable what the leg has finished
    budget: Budget
    stop: StopSwitch
    store_outage_seconds: float  # how long the results store may fail before the leg ends
    drain_seconds: float = math.inf  # that items in flight have, once somebody asked the leg to stop
    abort: Callable[[], None] = lambda: None  # abandons them then
    progress: Callable[[], LegProgress | None] = lambda: None  # what heartbeats tell of the work, if anything
    is_settling: bool = False  # the leg's work is over, and its last rows are being written
    _has_told_stop: bool = False
    uptime: Callable[[], float] = time.monotonic
    _beaten_at: datetime = field(init=False)
    _writing_since: float | None = None
    _failing_since: float | None = None
    _token: str | None = field(default=None, repr=False)
    _look_at: float = -math.inf
    _abort_at: float = math.inf

    def __post_init__(self) -> None:
        self._beaten_at = self.legs.clock()  # taking the lease is a sign of life

    @property
    def store_is_well(self) -> bool:
        """Whether the results store takes what is written; read by threads beside the one that writes."""
        since = self._writing_since
        return self._failing_since is None and (since is None or time.monotonic() - since < _SLOW_WRITE_SECONDS)

    def keep(self, over: threading.Event) -> None:
        """Write every second until `over` is set, and once more then.

        A store that fails at that last moment is waited for as well, unless the leg was stopped.
        """
        while True:
            is_last = over.is_set()
            if not is_last:
                self.budget.stop_at_closing()
            self._write_or_complain()
            if is_last and (self._failing_since is None or self.stop.reason is not None):
                return
            if is_last:
                time.sleep(FLUSH_SECONDS)
            else:
                over.wait(FLUSH_SECONDS)

    def send_heartbeats(self, over: threading.Event) -> None:
        """Only give signs of life until `over` is set: the leg is being settled, and its journal is complete."""
        self.is_settling = True
        while not over.wait(FLUSH_SECONDS):
            with suppress(ResultsError):  # settling finds out by itself
                if self._is_due():
                    self._beat()

    def write(self) -> None:
        """Hear who asks the leg to stop, give a sign of life when it is due, and flush.

        Raises:
            ResultsError: the store failed; what could not be written is kept for the next time.
        """
        self._writing_since = time.monotonic()
        try:
            self._look_for_stop()
            if self._is_due():
                self._beat()
                if self.legs.is_superseded(self.leg):
                    self.stop.pull(RunMustStop("Another process took this leg over.", ended_by=EndedBy.ERROR))
            self.flush()
            self.progress()  # so that its rates are over the last minute, also between two heartbeats
        finally:
            self._writing_since = None
        self._failing_since = None

    def _look_for_stop(self) -> None:
        """Look for a request when that is due, and abandon what is in flight when its time is over."""
        now = self.uptime()
        if now >= self._abort_at:
            self._abort_at = math.inf
            self.abort()
        if now < self._look_at:
            return
        self._look_at = now + _LOOK_SECONDS
        if self._token is None:
            holder = self.legs.holder(self.leg)
            self._token = "" if holder is None else holder.token
        reason = self.legs.stop_asked(self.leg, self._token)
        if reason is not None:
            self._look_at, self._abort_at = math.inf, now + self.drain_seconds
            log(Event.STOP_REQUESTED, run_id=self.legs.name, leg=self.leg, why=reason.message)
            self.stop.pull(reason)

    def _write_or_complain(self) -> None:
        try:
            self.write()
        except ResultsError as error:
            now = time.monotonic()
            self._failing_since = self._failing_since or now
            if now - self._failing_since >= self.store_outage_seconds:
                self.stop.pull(RunMustStop(_complaint(error), ended_by=EndedBy.BREAKER))
        except ProofsweepError as error:
            self.stop.pull(RunMustStop(_complaint(error), ended_by=EndedBy.ERROR))

    def _is_due(self) -> bool:
        is_news = self.stop.reason is not None and not self._has_told_stop
        return is_news or abs((self.legs.clock() - self._beaten_at).total_seconds()) >= HEARTBEAT_SECONDS

    def _beat(self) -> None:
        self._has_told_stop = self.stop.reason is not None
        self.legs.beat(self.leg, self.progress())
        self._beaten_at = self.legs.clock()


def _complaint(error: ProofsweepError) -> str:
    return f"The run's own records cannot be kept: {error.message}"
