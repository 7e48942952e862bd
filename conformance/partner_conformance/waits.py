"""Waits after a 429: as long as the service says, in all for a bounded time; then the lane gets no more calls."""

from collections.abc import Callable

from partner_conformance.replies import NoAnswer, Reply

# Chosen: 429s to one call. `Retry-After` may be too short once or twice; a lane that refuses more often stays full.
_MOST_REFUSALS = 6

Lane = tuple[str | None, bool]
"""A throttle lane: the key, and whether it is the lane of rotation (contract, Endpoints 3)."""


class Waits:
    """Waits in the lanes of all keys, together for at most `most_seconds`."""

    def __init__(self, most_seconds: float, sleep: Callable[[float], None]) -> None:
        self._left_seconds = most_seconds
        self._sleep = sleep
        self._closed: dict[Lane, Reply] = {}

    def require_open(self, lane: Lane) -> None:
        """Raise NoAnswer if the service has said to wait longer in this lane than the suite can."""
        if lane in self._closed:
            raise _throttled(self._closed[lane])

    def after(self, reply: Reply, lane: Lane, refusals: int) -> None:
        """Wait as this 429 says; `refusals` counts those of the call. Raise NoAnswer if that is too long."""
        told = reply.told_wait_seconds
        seconds = 2.0**refusals if told is None else told
        if refusals >= _MOST_REFUSALS or seconds > self._left_seconds:
            self._closed[lane] = reply
            raise _throttled(reply)
        self._left_seconds -= seconds
        self._sleep(seconds)


def _throttled(reply: Reply) -> NoAnswer:
    told = reply.told_wait_seconds
    wait = "" if told is None else f"; the service says to wait {told:.0f} s"
    return NoAnswer(f"{reply.operation} is throttled{wait}", (reply,))
