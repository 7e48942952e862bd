"""Other clients for comparison: fixed numbers of workers that wait, and the adaptive retry mode of AWS's clients."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from random import Random

from benchmarks.simulation.event_queue import EventQueue
from benchmarks.simulation.simulated_partner import SimulatedPartner

Wait = Callable[[int, float, Random], float]
"""Returns the seconds to wait after a number of refusals in a row, with the last `Retry-After`."""

_names = count()


def obey(_refusals: int, retry_after: float, _chance: Random) -> float:
    """Wait as long as `Retry-After` says."""
    return retry_after


def backoff(refusals: int, _retry_after: float, chance: Random) -> float:
    """Wait for a random part of a time that doubles, up to 30 s."""
    return min(30.0, 0.5 * 2.0 ** min(refusals, 10)) * chance.random()


@dataclass(slots=True)
class Unpaced:
    """Lets every call go at once."""

    def wait_seconds(self, now: float) -> float:  # noqa: ARG002 - the same signature as Adaptive's
        return 0.0

    def learn(self, now: float, *, is_refused: bool) -> None:
        """Ignore the answer."""


@dataclass(slots=True)
class Adaptive:
    """The cubic rate limiter of AWS's adaptive retry mode: no limit until the first 429, then a token bucket."""

    rate: float = 0.5
    is_on: bool = False
    _measured: float = 0.0
    _bin: float = 0.0
    _answers: int = 0
    _widest: float = 0.0
    _refused_at: float = 0.0
    _tokens: float = 0.0
    _filled_at: float = 0.0

    def wait_seconds(self, now: float) -> float:
        """Return 0 and let a call go, or return the seconds until the next try; tokens of one second may collect."""
        self._tokens = min(max(1.0, self.rate), self._tokens + (now - self._filled_at) * self.rate)
        self._filled_at = now
        if self.is_on and self._tokens < 1:
            return max(0.001, (1 - self._tokens) / self.rate)
        self._tokens -= self.is_on
        return 0.0

    def learn(self, now: float, *, is_refused: bool) -> None:
        """At a 429, cut the rate to 0.7 of the measured one; else grow along a cubic curve, to at most twice it."""
        self._measure(now)
        if is_refused:
            self._widest = min(self._measured, self.rate) if self.is_on else self._measured
            self._refused_at, self.is_on = now, True
            wanted = 0.7 * self._widest
        else:
            plateau_seconds = (self._widest * 0.3 / 0.4) ** (1 / 3)
            wanted = 0.4 * (now - self._refused_at - plateau_seconds) ** 3 + self._widest
        self.rate = max(0.5, min(wanted, 2 * self._measured))

    def _measure(self, now: float) -> None:
        self._answers += 1
        half = int(now * 2) / 2
        if half > self._bin:
            self._measured = 0.8 * self._answers / (half - self._bin) + 0.2 * self._measured
            self._bin, self._answers = half, 0


@dataclass(slots=True, kw_only=True)
class FixedWorkers:
    """A fixed number of workers, each with one item at a time; none sends in a told pause if `keeps_pauses`."""

    events: EventQueue
    partner: SimulatedPartner
    chance: Random
    workers: int
    wait: Wait
    pace: Unpaced | Adaptive = field(default_factory=Unpaced)
    keeps_pauses: bool = False
    _opens_at: float = 0.0
    _queue: deque[Callable[[], None]] = field(default_factory=deque)

    def work(self) -> None:
        for _ in range(self.workers):
            self._ask(next(_names), is_verify=False, refusals=0)

    def _ask(self, item: int, *, is_verify: bool, refusals: int) -> None:
        def answered(status: int, retry_after: float | None) -> None:
            now = self.events.now
            self.pace.learn(now, is_refused=status == 429)  # noqa: PLR2004 - a status
            if status == 200:  # noqa: PLR2004 - a status
                self._go_on(item, is_verify=is_verify)
                return
            if self.keeps_pauses:
                self._opens_at = max(self._opens_at, now + (retry_after or 0.0))
            wait = self.wait(refusals, retry_after or 0.0, self.chance)
            self.events.at(now + wait, lambda: self._ask(item, is_verify=is_verify, refusals=refusals + 1))

        self._queue.append(lambda: self.partner.call(item, is_verify=is_verify, answered=answered))
        if len(self._queue) == 1:
            self._serve()

    def _serve(self) -> None:
        while self._queue:
            now = self.events.now
            wait = self._opens_at - now
            if wait <= 0:
                wait = self.pace.wait_seconds(now)
            if wait > 0:
                self.events.at(now + wait, self._serve)
                return
            self._queue.popleft()()

    def _go_on(self, item: int, *, is_verify: bool) -> None:
        if is_verify:
            self._ask(next(_names), is_verify=False, refusals=0)
        else:
            self.partner.conditions.upload(item, lambda _size: self._ask(item, is_verify=True, refusals=0))
