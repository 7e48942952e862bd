"""Keep a leg alive while it is worked on: the journal every second, a beat every ten."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from proofsweep.batch.runs import BEAT_SECONDS
from proofsweep.errors import ProofsweepError, RunMustStop
from proofsweep.storage.journal import FLUSH_SECONDS
from proofsweep.storage.legs import Legs
from proofsweep.usecases.desk import Desk

_FLUSHES_PER_BEAT = round(BEAT_SECONDS / FLUSH_SECONDS)


@contextmanager
def kept_alive(desk: Desk, legs: Legs) -> Iterator[None]:
    """Beat and flush beside the work; the leg stops if the store fails, or if another process has ended it."""
    over = threading.Event()
    thread = threading.Thread(target=_beat_until, args=(over, desk, legs), name="pulse", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _beat_until(over: threading.Event, desk: Desk, legs: Legs) -> None:
    flushes = 0
    try:
        while not over.wait(FLUSH_SECONDS):
            desk.journal.flush()
            flushes += 1
            if flushes % _FLUSHES_PER_BEAT == 0:
                _beat(desk, legs, flushes // _FLUSHES_PER_BEAT)
    except ProofsweepError as error:
        desk.stop.pull(RunMustStop(f"The run's own records cannot be kept: {error.message}", ended_by="error"))


def _beat(desk: Desk, legs: Legs, number: int) -> None:
    legs.beat(desk.leg, number)
    if legs.receipt(desk.leg) is not None:
        desk.stop.pull(RunMustStop("Another process took this leg over.", ended_by="error"))
