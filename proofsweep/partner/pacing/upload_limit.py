"""How many uploads at once? As many as fill the link: beyond that each is only slower. Pure: the time is an argument.

A slot is short-lived, and a slow upload makes it old. Bytes per second at several numbers of uploads show whether one
more adds anything. So now and then fewer are tried, and more if fewer were slower.
"""

import math
from collections.abc import Hashable
from dataclasses import dataclass, field

# All chosen, and checked together in benchmarks/simulation.
# Uploads at the start, and at least.
_FEWEST = 8.0
# Each step. Smaller: chance hides what it brings. Larger: slots get old while it is tried.
_STEP = 1.5
# Until more first bring nothing, each step, and the uploads that show its speed. Less: a fast lane waits at its start.
_RAMP_STEP = 2.0
_RAMP_SAMPLES = 4
# More are kept if they bring so much.
_LEAST_GAIN = 1.2
# Fewer are kept if they are at least so fast. Lower: the link is used less. Higher: chance brings back the old number.
_LEAST_SHARE = 0.92
# Uploads that show the speed, as a share of their number and at least.
_SAMPLE_SHARE = 0.5
_LEAST_SAMPLES = 8
# When the number is tried again.
_FIRST_TRIAL_SECONDS = 10.0
_TRIAL_EVERY_SECONDS = 320.0
# The number is a limit if so many are there, as a share of it. Lower: a slow lane looks like a full link.
_BINDING_SHARE = 0.8


@dataclass(slots=True)
class UploadLimit:
    """What the uploads of one process deliver together; times are seconds of one monotonic clock."""

    most: float = _FEWEST  # the most uploads at once
    _began: dict[Hashable, tuple[int, float]] = field(default_factory=dict)
    _at_once: list[float] = field(default_factory=list)
    _bytes: float = 0.0
    _seconds: float = 0.0
    _before: tuple[float, float] | None = None
    _trial_after: float = _FIRST_TRIAL_SECONDS
    _next_trial_at: float = -math.inf

    @property
    def is_reached(self) -> bool:
        """Return whether no more uploads should begin."""
        return len(self._began) >= int(self.most)

    def began(self, holder: Hashable) -> None:
        """Take note that an item requests a slot, to upload at once."""
        self._began[holder] = len(self._began) + 1, self.most

    def ended(self, holder: Hashable, size_bytes: float, seconds: float, now: float) -> None:
        """Take note that an upload is over; 0 bytes if it brought nothing."""
        if holder not in self._began:
            return
        at_end, (at_begin, most) = len(self._began), self._began.pop(holder)
        at_once = (at_begin + at_end) / 2
        if size_bytes and most == self.most and at_once >= _BINDING_SHARE * most:
            self._at_once.append(at_once)
            self._bytes += size_bytes
            self._seconds += seconds
        if len(self._at_once) >= self._enough and self._seconds:
            self._judge(sum(self._at_once) / len(self._at_once) * self._bytes / self._seconds, now)
            self._at_once.clear()
            self._bytes = self._seconds = 0.0

    @property
    def _is_ramp(self) -> bool:
        """Return whether more have always carried more so far."""
        return self._trial_after == _FIRST_TRIAL_SECONDS

    @property
    def _enough(self) -> float:
        return _RAMP_SAMPLES if self._is_ramp else max(_LEAST_SAMPLES, _SAMPLE_SHARE * self.most)

    @property
    def _step(self) -> float:
        return _RAMP_STEP if self._is_ramp else _STEP

    def _judge(self, speed: float, now: float) -> None:
        """Keep the number, or try another one, now that its speed is known."""
        if self._before is None:
            if now >= self._next_trial_at:
                self._try(self.most / _STEP if self.most > _FEWEST else self.most * self._step, speed)
            return
        most_before, speed_before = self._before
        is_more = self.most > most_before
        if speed < speed_before * (_LEAST_GAIN if is_more else _LEAST_SHARE):
            self.most = most_before
            self._end_trial(now)
            if not is_more:
                self._try(self.most * _STEP, speed_before)
        elif is_more or self.most > _FEWEST:
            self._try(self.most * self._step if is_more else self.most / _STEP, speed)
        else:
            self._end_trial(now)

    def _end_trial(self, now: float) -> None:
        self._before, self._next_trial_at = None, now + self._trial_after
        self._trial_after = min(_TRIAL_EVERY_SECONDS, 2 * self._trial_after)

    def _try(self, most: float, speed: float) -> None:
        self._before = (self.most, speed)
        self.most = max(_FEWEST, most)
