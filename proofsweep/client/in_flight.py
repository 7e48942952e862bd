"""Does a limit on concurrent calls cause the 429s, and not a rate? Pure: the time is an argument.

The number of calls in flight tells them apart. A concurrency limit refuses calls when many are in flight, and almost
never when fewer are. A rate refuses at any number, and most calls that are in flight at that moment go through.
"""

import math
from collections import defaultdict
from collections.abc import Hashable
from dataclasses import dataclass, field

_LEAST_BURSTS = 3  # bursts of 429s that show a limit
_BURST_SECONDS = 0.5  # 429s that come closer than this are one burst
_LEAST_LIMIT = 2  # with so few in flight a rate refuses calls too
_FADING_SHARE = 0.9  # what each 429 leaves of the older counts
_FADED_COUNT = 0.3  # faded counts of 429s below this are dropped
_FEW = 6  # fewer bursts show a limit where so few calls are refused
_REFUSED_SHARE = 0.2  # the share of calls beyond a limit that is refused
_PROBE_AFTER_SECONDS = 150.0  # when one call beyond the limit is tried
_PROBE_CALLS = 40  # calls beyond the limit that go through before it grows by one
_FEWEST = 8.0  # uploads at the start, and at least
_STEP = 1.5
_RAMP_STEP, _RAMP_SAMPLES = 2.0, 4  # until more first bring nothing: each step, and the uploads that show its speed
_LEAST_GAIN = 1.2  # more are kept if they bring so much
_LEAST_SHARE = 0.92  # fewer are kept if they are at least so fast
_SAMPLE_SHARE = 0.5  # uploads that show the speed, as a share of their number
_LEAST_SAMPLES = 8  # and at least
_FIRST_TRIAL_SECONDS = 10.0  # when the number is first tried again
_TRIAL_EVERY_SECONDS = 320.0  # and later
_BINDING_SHARE = 0.8  # the number is a limit if so many are there, as a share of it


@dataclass(slots=True)
class ConcurrencyLimit:
    """What the number of calls in flight shows; a call counts itself."""

    most: float = math.inf  # the most calls in flight that are let through; infinite while no limit is known
    _admitted: dict[int, float] = field(default_factory=lambda: defaultdict(float))
    _refused: dict[int, float] = field(default_factory=lambda: defaultdict(float))
    _refused_at: float = -math.inf
    _bursts: int = 0
    _admitted_since: int = 0
    _counted_from: float = math.inf

    def allowed(self, now: float) -> float:
        """Return the most calls in flight: every few minutes one more than the limit, to test it."""
        return self.most + (self.most < math.inf and now - self._refused_at > _PROBE_AFTER_SECONDS)

    def was_admitted(self, in_flight: int) -> None:
        self._admitted[in_flight] += 1
        self._admitted_since += 1
        if in_flight > self.most and self._admitted[in_flight] >= _PROBE_CALLS:
            self.most += 1

    def was_refused(self, in_flight: int, now: float) -> bool:
        """Take note of a 429; say whether a limit explains it, so that the rate stays as it is."""
        is_first, self._refused_at = now - self._refused_at > _BURST_SECONDS, now
        if is_first:
            # Calls that leave together do not arrive in order, so their numbers show nothing.
            is_evidence = self.most < math.inf or self._admitted_since >= max(1, in_flight - 1)
            self._bursts += is_evidence
            self._counted_from = in_flight if is_evidence and self._bursts > 1 else math.inf
            self._admitted_since = 0
        if in_flight > self.most:
            self._admitted[in_flight] = 0
            return True
        if in_flight < self._counted_from:
            return False
        self._fade()
        self._refused[in_flight] += 1
        lowest = min(self._refused)
        if lowest <= _LEAST_LIMIT:  # a rate refuses calls at such a number too
            self.most = math.inf
        elif self._is_sharp(lowest):
            self.most = lowest - 1
            return True
        return False

    def _is_sharp(self, lowest: int) -> bool:
        """Whether calls are refused from a number on.

        Fewer bursts show it if none has gone through there, or if the number is small: then it recurs only by a limit.
        """
        through = sum(count for number, count in self._admitted.items() if number >= lowest)
        enough = _LEAST_BURSTS if through and lowest > _FEW else _LEAST_BURSTS - 1
        return self._bursts > enough and sum(self._refused.values()) > _REFUSED_SHARE * through

    def _fade(self) -> None:
        for number in self._admitted:
            self._admitted[number] *= _FADING_SHARE
        for number in list(self._refused):
            self._refused[number] *= _FADING_SHARE
            if self._refused[number] < _FADED_COUNT:
                del self._refused[number]


@dataclass(slots=True)
class UploadLimit:
    """How many uploads at once? As many as fill the link: beyond that each is only slower, and its slot gets old.

    Bytes per second at several numbers of uploads show whether one more adds anything. So now and then fewer are tried,
    and more if fewer were slower. Times are seconds of one monotonic clock.
    """

    most: float = _FEWEST  # the most uploads at once
    _began: dict[Hashable, tuple[int, float]] = field(default_factory=dict)
    _at_once: list[float] = field(default_factory=list)
    _bytes: float = 0.0
    _seconds: float = 0.0
    _before: tuple[float, float] | None = None
    _trial_after: float = _FIRST_TRIAL_SECONDS
    _next_trial_at: float = -math.inf

    @property
    def begun(self) -> int:
        return len(self._began)

    @property
    def is_reached(self) -> bool:
        return len(self._began) >= int(self.most)

    def began(self, holder: Hashable) -> None:
        self._began[holder] = len(self._began) + 1, self.most

    def ended(self, holder: Hashable, size_bytes: float, seconds: float, now: float) -> None:
        if holder not in self._began:
            return
        at_end, (at_begin, most) = len(self._began), self._began.pop(holder)
        at_once = (at_begin + at_end) / 2
        if size_bytes and most == self.most and at_once >= _BINDING_SHARE * most:
            self._at_once.append(at_once)
            self._bytes += size_bytes
            self._seconds += seconds
        if self._seconds and len(self._at_once) >= self._enough:
            self._judge(sum(self._at_once) / len(self._at_once) * self._bytes / self._seconds, now)
            self._at_once.clear()
            self._bytes = self._seconds = 0.0

    @property
    def _is_ramp(self) -> bool:
        return self._trial_after == _FIRST_TRIAL_SECONDS

    @property
    def _enough(self) -> float:
        return _RAMP_SAMPLES if self._is_ramp else max(_LEAST_SAMPLES, _SAMPLE_SHARE * self.most)

    @property
    def _step(self) -> float:
        return _RAMP_STEP if self._is_ramp else _STEP

    def _judge(self, speed: float, now: float) -> None:
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
