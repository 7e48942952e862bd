"""The pace of a process that shares its lane: its part of what all know of it, and nothing learned alone. Pure."""

import math
from dataclasses import dataclass

from proofsweep.client.lane import TokenBucket
from proofsweep.client.lane_model import RateChange, Sent

_SLACK_SECONDS = 0.02  # how late a call may go and still count as sent at the pace


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneShare:
    """This process's part of a lane that others use too."""

    rate: float  # calls per second that are this process's part
    until: float = math.inf  # monotonic; what is not renewed by then is not known any more
    bucket: TokenBucket | None = None  # what the whole lane is taken for
    yields: bool = False  # a more urgent process goes first


@dataclass(slots=True)
class LaneUse:
    """How a process has used the lane since it told the others last."""

    calls: int = 0
    let_in: int = 0  # answered, and not with 429
    held_back: int = 0  # calls that would have gone earlier at a faster pace
    waits: bool = False  # a call waits for its turn now

    def sent(self) -> None:
        self.calls += 1
        self.held_back += self.waits
        self.waits = False

    @property
    def is_hungry(self) -> bool:
        """Whether more calls would have gone at a faster pace."""
        return self.waits if not self.calls else 2 * self.held_back >= self.calls


@dataclass(slots=True)
class KeptPace:
    """Paces calls at a rate that is given; a 429 only pauses them. It has what the call queue asks of a pacer."""

    share: LaneShare
    opens_at: float = -math.inf
    rate_change: RateChange | None = None
    _next_at: float = -math.inf
    _number: int = 0

    @property
    def pace(self) -> float:
        """Calls per second that may go now."""
        return self.share.rate

    @property
    def learned_rate(self) -> float | None:
        """Calls per second that the whole lane lets through, as all know it."""
        return None if self.share.bucket is None else self.share.bucket.rate

    @property
    def next_at(self) -> float:
        return max(self.opens_at, self._next_at)

    def take(self, share: LaneShare, now: float) -> None:
        if share.rate > self.share.rate:
            self._next_at = min(self._next_at, now + 1.0 / share.rate)
        self.share = share

    def send(self, now: float) -> Sent:
        self._next_at = max(self._next_at, now - _SLACK_SECONDS) + 1.0 / self.share.rate
        self._number += 1
        return Sent(now, self._number)

    def pause(self, now: float, pause_seconds: float) -> None:
        self.opens_at = max(self.opens_at, now + pause_seconds)

    def throttled(self, _sent: Sent, now: float, pause_seconds: float) -> None:
        """Pause after a 429, and go on at another moment: calls of processes that go at the same one are too many."""
        self.pause(now, pause_seconds)
        # What is beyond the millisecond is as good as chance.
        self._next_at = self.opens_at + now * 1_000 % 1.0 / self.share.rate

    def search_again(self, _sent: Sent, _now: float) -> None:
        """Leave the search for a rate to a process that is alone."""
