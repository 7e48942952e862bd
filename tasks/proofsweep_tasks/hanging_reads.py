"""Say what keeps this process waiting, and let a signal end it all the same.

A read of a hard mount whose server is gone returns when the server is back. No signal frees its thread, and if that is
the main one, Python's handlers are not called either.
"""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from proofsweep.config.locations import one_line
from proofsweep.config.notices import say
from proofsweep.config.threads import background_thread
from proofsweep.domain.endings import EndedBy
from proofsweep.files.local_files import HANGS_AFTER_SECONDS, ReadWatch
from proofsweep.files.mounts import hanging_place

_LOOK_SECONDS = 1.0
_STOPS = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
_is_watching = threading.Lock()


@contextmanager
def hangs_told() -> Iterator[None]:
    """Name each place on stderr in which a read hangs meanwhile, once; the innermost of several does nothing."""
    if not _is_watching.acquire(blocking=False):
        yield
        return
    try:
        with background_thread("hanging-reads", _watch):
            yield
    finally:
        _is_watching.release()


def _watch(over: threading.Event) -> None:
    # Here they stay pending, so that this thread sees those which the main thread cannot take.
    signal.pthread_sigmask(signal.SIG_BLOCK, _STOPS)
    reads = ReadWatch(_LOOK_SECONDS)
    told: set[str] = set()
    is_untaken = False
    while not over.wait(_LOOK_SECONDS):
        for _, awaited in reads.look():
            place = hanging_place(awaited.location)
            if place not in told:
                told.add(place)
                say(f"{one_line(place)} has not answered for {HANGS_AFTER_SECONDS:.0f} s: is its server there?")
        was_untaken, is_untaken = is_untaken, bool(signal.sigpending() & _STOPS)
        if was_untaken and is_untaken:
            say("Ended at once: a folder does not answer.")
            os._exit(EndedBy.INTERRUPTED.ending.exit_code)
