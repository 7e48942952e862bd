"""The service behind the gateway, and the network to it: the slow profile."""

from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from random import Random

from benchmarks.simulation.gateways import Gateway
from benchmarks.simulation.world import World

Answered = Callable[[int, float | None], None]
"""Takes an answer: the status, and the `Retry-After` of a 429."""


@dataclass(slots=True)
class Seen:
    """What came to the door: calls let in and refused by second, and the age of each slot when it was verified."""

    admitted: Counter[int] = field(default_factory=Counter)
    refused: Counter[int] = field(default_factory=Counter)
    slot_ages: list[float] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class Partner:
    """Answers calls in simulated time.

    Attributes:
        failing: the part of calls that is answered with 500, after being let in.
        jitter: mean of the random part of a one-way trip, in seconds.
    """

    world: World
    gateway: Gateway
    chance: Random
    failing: float = 0.0
    jitter: float = 0.005
    seen: Seen = field(default_factory=Seen)
    _slots: dict[Hashable, float] = field(default_factory=dict)

    def call(self, item: Hashable, *, is_verify: bool, answered: Answered) -> None:
        """Send a call: for a slot, or to verify one."""
        self.world.at(self.world.now + self._trip(), lambda: self._arrive(item, is_verify, answered))

    def upload_seconds(self) -> float:
        """Draw how long an upload takes."""
        return float(0.05 * 200 ** self.chance.random())

    def _arrive(self, item: Hashable, is_verify: bool, answered: Answered) -> None:
        now = self.world.now
        if self.gateway.refuses(now):
            self.seen.refused[int(now)] += 1
            wait = self.gateway.retry_after(now)
            self.world.at(now + self._trip(), lambda: answered(429, wait))
            return
        self.seen.admitted[int(now)] += 1
        if is_verify and item in self._slots:
            self.seen.slot_ages.append(now - self._slots.pop(item))
        self.world.at(now + self._work(is_verify), lambda: self._leave(item, is_verify, answered))

    def _leave(self, item: Hashable, is_verify: bool, answered: Answered) -> None:
        self.gateway.leave()
        status = 500 if self.chance.random() < self.failing else 200
        if status == 200 and not is_verify:  # noqa: PLR2004 - a status
            self._slots[item] = self.world.now
        self.world.at(self.world.now + self._trip(), lambda: answered(status, None))

    def _work(self, is_verify: bool) -> float:
        if is_verify:
            return float(0.1 * 30 ** self.chance.random())
        return 0.03 + self.chance.expovariate(50)

    def _trip(self) -> float:
        return 0.015 + self.chance.expovariate(1 / self.jitter)
