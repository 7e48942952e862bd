"""Waiting for a condition: the only way in which a test waits for something that happens elsewhere."""

import time
from collections.abc import Callable

# chosen: half of pytest's timeout, so that the reason is told before pytest ends the test. No wait should come near it.
LONGEST_WAIT_SECONDS = 120.0

# chosen: a fiftieth of a second is short beside every wait here, and costs little. Half and twice change no test.
POLL_SECONDS = 0.02


def wait_for(holds: Callable[[], object], explain: Callable[[], object] = lambda: "") -> None:
    """Return soon after a condition holds; if it never does, fail with what `explain` gives."""
    deadline = time.monotonic() + LONGEST_WAIT_SECONDS
    while not holds():
        assert time.monotonic() < deadline, f"the condition never held\n{explain()}"
        time.sleep(POLL_SECONDS)
