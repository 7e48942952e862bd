"""Keep a leg alive while it is worked on: the journal every second, a beat every ten."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from proofsweep.domain.exchanges import Exchange
from proofsweep.domain.runs import BEAT_SECONDS
from proofsweep.errors import ProofsweepError, ResultsError, RunMustStop
from proofsweep.storage.results.journal import FLUSH_SECONDS
from proofsweep.storage.results.legs import Legs
from proofsweep.usecases.leg.context import LegContext

_SLOW_SECONDS = 5.0
"""A bucket's client tries again for longer than that before it says that the store fails."""


@contextmanager
def kept_alive(desk: LegContext, legs: Legs, aside: list[Exchange]) -> Iterator[None]:
    """Beat and flush beside the work, exchanges that belong to no row (`aside`) too.

    While the store fails, or leaves a write unanswered for 5 s, nothing new is begun; the leg stops if that lasts, or
    if another process has ended it.
    """
    over = threading.Event()
    pulse = Heartbeat(desk, legs, aside)
    thread = threading.Thread(target=pulse.beat_until, args=(over,), name="pulse", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@dataclass(slots=True)
class Heartbeat:
    """What keeps one leg alive.

    Attributes:
        beats: written so far.
        beaten_at: when the last was, or the claim; by the boot's monotonic clock.
        failing_since: when the store first failed; None while it does not.
    """

    desk: LegContext
    legs: Legs
    aside: list[Exchange]
    beats: int = 0
    beaten_at: float = field(init=False)
    failing_since: float | None = None

    def __post_init__(self) -> None:
        self.beaten_at = self.legs.uptime()

    def beat_until(self, over: threading.Event) -> None:
        """Do it every second, and once more when the work is over; a store that fails then is waited for as well."""
        while True:
            is_last = over.is_set()
            if not is_last:
                self.desk.allowance.stop_at_closing()
            try:
                self.write_down()
            except ResultsError as error:
                self._be_patient(error)
            except ProofsweepError as error:
                self.desk.stop.pull(RunMustStop(_complaint(error), ended_by="error"))
            if is_last and (self.failing_since is None or self.desk.stop.reason is not None):
                return
            if is_last:
                time.sleep(FLUSH_SECONDS)
            else:
                over.wait(FLUSH_SECONDS)

    def write_down(self) -> None:
        """Give a sign of life when it is due, and flush; a slow store must not let the leg look dead.

        Raises:
            ResultsError: the store failed; nothing is lost by it.
        """
        slow = threading.Timer(_SLOW_SECONDS, self.desk.may_begin.clear)
        slow.start()
        try:
            if self.legs.uptime() - self.beaten_at >= BEAT_SECONDS:
                self._beat()
            self.desk.note_aside(self.aside)
            self.desk.journal.flush()
        finally:
            slow.cancel()
        self.failing_since = None
        self.desk.may_begin.set()

    def _be_patient(self, error: ResultsError) -> None:
        """Begin nothing that could not be written down, and give up when it lasts."""
        self.desk.may_begin.clear()
        now = time.monotonic()
        self.failing_since = self.failing_since or now
        if now - self.failing_since >= self.desk.store_patience_seconds:
            self.desk.stop.pull(RunMustStop(_complaint(error), ended_by="breaker"))

    def _beat(self) -> None:
        self.legs.beat(self.desk.leg, self.beats + 1)
        self.beats, self.beaten_at = self.beats + 1, self.legs.uptime()
        if self.legs.receipt(self.desk.leg) is not None:
            self.desk.stop.pull(RunMustStop("Another process took this leg over.", ended_by="error"))


def _complaint(error: ProofsweepError) -> str:
    return f"The run's own records cannot be kept: {error.message}"
