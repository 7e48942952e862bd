"""The slow profile: what lies between a client and a slow service, and a machine that stalls."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from random import Random

from benchmarks.simulation.event_queue import EventQueue
from benchmarks.simulation.uplink import Uplink

# The bounds of a stall, as on a machine that swaps or that others use.
_SHORTEST_STALL_SECONDS = 0.2
_LONGEST_STALL_SECONDS = 3.0
# Files on a shared link, as recordings are: log-uniform between these.
_FILE_MEGABYTES = (1.0, 60.0)


@dataclass(slots=True)
class Stalls:
    """Times in which a machine does nothing; `per_minute` of them on average. Times must not decrease."""

    per_minute: float = 0.0
    chance: Random = field(default_factory=lambda: Random(0))
    _begin: float = 0.0
    _end: float = 0.0

    def end_after(self, now: float) -> float:
        """Return the end of the stall of this time, or the time itself if there is none."""
        while self.per_minute and self._end <= now:
            self._begin = self._end + self.chance.expovariate(self.per_minute / 60)
            self._end = self._begin + self.chance.uniform(_SHORTEST_STALL_SECONDS, _LONGEST_STALL_SECONDS)
        return self._end if self._begin <= now < self._end else now


@dataclass(slots=True, kw_only=True)
class SlowProfile:
    """The conditions of a trial.

    Attributes:
        jitter_seconds: mean of the random part of a one-way trip.
        call_seconds: the bounds of the time that any call takes; None for the slow profile.
        stalls: the times in which nothing leaves the client's machine, and no answer enters it.
        uplink: the link that all uploads share, in megabytes; None if each has a link of its own.
    """

    events: EventQueue
    chance: Random
    jitter_seconds: float = 0.005
    call_seconds: tuple[float, float] | None = None
    stalls: Stalls = field(default_factory=Stalls)
    uplink: Uplink | None = None

    def awake_at(self, now: float) -> float:
        """Return when the machine is not stalled."""
        return self.stalls.end_after(now)

    def trip_seconds(self) -> float:
        """Draw the duration of a one-way trip."""
        return 0.015 + self.chance.expovariate(1 / self.jitter_seconds)

    def work_seconds(self, *, is_verify: bool) -> float:
        """Draw the duration of a call."""
        if self.call_seconds is not None:
            least, most = self.call_seconds
            return float(least * (most / least) ** self.chance.random())
        if is_verify:
            return float(0.1 * 30 ** self.chance.random())
        return 0.03 + self.chance.expovariate(50)

    def upload(self, item: Hashable, uploaded: Callable[[float], None]) -> None:  # noqa: ARG002 - sizes are drawn
        """Upload a file, and tell its size; without a shared link each second carries a megabyte, for 0.05 to 10 s."""
        if self.uplink is None:
            seconds = float(0.05 * 200 ** self.chance.random())
            self.events.at(self.events.now + seconds, lambda: uploaded(seconds))
        else:
            least, most = _FILE_MEGABYTES
            self.uplink.send(least * (most / least) ** self.chance.random(), uploaded)
