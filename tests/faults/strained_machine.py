"""A machine that stalls."""

import os
import random
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field


@dataclass(slots=True)
class Stalls:
    """The stops of one process: at random moments it gets SIGSTOP, and after a random time SIGCONT."""

    chance: random.Random
    per_minute: float  # how many, on average, in a minute in which the process runs
    longest: float = 5.0  # seconds of one stop
    shortest: float = 0.2
    # begin and end of each stop, on the monotonic clock
    stopped: list[tuple[float, float]] = field(default_factory=list)

    @contextmanager
    def of(self, process: int) -> Iterator[None]:
        """Stop a process again and again; in the end it runs, if it still exists."""
        over = threading.Event()
        thread = threading.Thread(target=self._stop_now_and_then, args=(process, over))
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def _stop_now_and_then(self, process: int, over: threading.Event) -> None:
        with suppress(ProcessLookupError):
            while not over.wait(self.chance.uniform(0.2, 1.8) * 60 / self.per_minute):
                begin = time.monotonic()
                os.kill(process, signal.SIGSTOP)
                over.wait(self.chance.uniform(self.shortest, self.longest))
                os.kill(process, signal.SIGCONT)
                self.stopped.append((begin, time.monotonic()))
