"""Waiting for a condition: the only way in which a test waits for something that happens elsewhere."""

import time
from collections.abc import Callable

LONGEST_WAIT_SECONDS = 120.0  # half of pytest's timeout, so that the reason is told before pytest ends the test
SHORTEST_PAUSE_SECONDS = 0.02
PAUSE_PER_QUESTION = 9  # a tenth of the time goes into asking: a Prefect server that is always asked does nothing else
LONGEST_PAUSE_SECONDS = 0.5


def wait_for(
    holds: Callable[[], object], explain: Callable[[], object] = lambda: "", seconds: float = LONGEST_WAIT_SECONDS
) -> None:
    """Return soon after a condition holds; if it never does, fail with what `explain` gives."""
    deadline = time.monotonic() + seconds
    while True:
        asked_at = time.monotonic()
        if holds():
            return
        answered_at = time.monotonic()
        assert answered_at < deadline, f"the condition never held\n{explain()}"
        pause = PAUSE_PER_QUESTION * (answered_at - asked_at)
        time.sleep(min(max(pause, SHORTEST_PAUSE_SECONDS), LONGEST_PAUSE_SECONDS))
