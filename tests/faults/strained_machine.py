"""A machine that stalls, and a machine whose processors are busy."""

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

_SPIN = "import os\nparent = os.getppid()\nwhile os.getppid() == parent: pass"
"""It ends with the tests, even if they are killed."""


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


@contextmanager
def busy_processors(processes: int = 2) -> Iterator[None]:
    """Let so many processes calculate beside the run."""
    spinning = [subprocess.Popen([sys.executable, "-c", _SPIN]) for _ in range(processes)]
    try:
        yield
    finally:
        for each in spinning:
            each.kill()
            each.wait()
