"""Keep a leg alive while it is worked on: the journal every second, a beat every ten."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count

from proofsweep.batch.exchanges import Exchange
from proofsweep.batch.runs import BEAT_SECONDS
from proofsweep.errors import ProofsweepError, RunMustStop
from proofsweep.storage.journal import FLUSH_SECONDS
from proofsweep.storage.legs import Legs
from proofsweep.usecases.desk import Desk

_FLUSHES_PER_BEAT = round(BEAT_SECONDS / FLUSH_SECONDS)


@contextmanager
def kept_alive(desk: Desk, legs: Legs, aside: list[Exchange]) -> Iterator[None]:
    """Beat and flush beside the work, exchanges that belong to no row (`aside`) too.

    The leg stops if the store fails, or if another process has ended it.
    """
    over = threading.Event()
    thread = threading.Thread(target=_beat_until, args=(over, desk, legs, aside), name="pulse", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _beat_until(over: threading.Event, desk: Desk, legs: Legs, aside: list[Exchange]) -> None:
    try:
        for flushes in count(1):
            desk.allowance.stop_at_closing()
            desk.note_aside(aside)
            desk.journal.flush()
            if flushes % _FLUSHES_PER_BEAT == 0:
                _beat(desk, legs, flushes // _FLUSHES_PER_BEAT)
            if over.wait(FLUSH_SECONDS):
                return
    except ProofsweepError as error:
        desk.stop.pull(RunMustStop(f"The run's own records cannot be kept: {error.message}", ended_by="error"))


def _beat(desk: Desk, legs: Legs, number: int) -> None:
    legs.beat(desk.leg, number)
    if legs.receipt(desk.leg) is not None:
        desk.stop.pull(RunMustStop("Another process took this leg over.", ended_by="error"))
