"""The service behind a gateway, and the way to it, in simulated time."""

from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from random import Random

from benchmarks.simulation.event_queue import EventQueue
from benchmarks.simulation.gateways import Gateway
from benchmarks.simulation.network import SlowProfile

Answered = Callable[[int, float | None], None]
"""Receives an answer: the status, and the `Retry-After` of a 429."""


@dataclass(slots=True)
class Traffic:
    """Calls let in and refused by second, and the age in seconds of each slot when it was verified."""

    admitted: Counter[int] = field(default_factory=Counter)
    refused: Counter[int] = field(default_factory=Counter)
    slot_ages: list[float] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class SimulatedPartner:
    """Answers calls in simulated time; `failing` is the part of the calls let in that is answered with 500."""

    events: EventQueue
    gateway: Gateway
    conditions: SlowProfile
    chance: Random
    failing: float = 0.0
    traffic: Traffic = field(default_factory=Traffic)
    _slots: dict[Hashable, float] = field(default_factory=dict)

    def call(self, item: Hashable, *, is_verify: bool, answered: Answered) -> None:
        """Send a call that requests a slot or verifies one."""
        leaves_at = self.conditions.awake_at(self.events.now)
        arrives_at = leaves_at + self.conditions.trip_seconds()
        self.events.at(arrives_at, lambda: self._arrive(item, is_verify, answered))

    def _arrive(self, item: Hashable, is_verify: bool, answered: Answered) -> None:
        now = self.events.now
        if self.gateway.refuses(now):
            self.traffic.refused[int(now)] += 1
            wait = self.gateway.retry_after(now)
            self.events.at(now + self.conditions.trip_seconds(), lambda: self._reach(answered, 429, wait))
            return
        self.traffic.admitted[int(now)] += 1
        if is_verify and item in self._slots:
            self.traffic.slot_ages.append(now - self._slots.pop(item))
        works_until = now + self.conditions.work_seconds(is_verify=is_verify)
        self.events.at(works_until, lambda: self._finish(item, is_verify, answered))

    def _finish(self, item: Hashable, is_verify: bool, answered: Answered) -> None:
        self.gateway.release()
        status = 500 if self.chance.random() < self.failing else 200
        if status == 200 and not is_verify:  # noqa: PLR2004 - a status
            self._slots[item] = self.events.now
        self.events.at(self.events.now + self.conditions.trip_seconds(), lambda: self._reach(answered, status, None))

    def _reach(self, answered: Answered, status: int, wait: float | None) -> None:
        """Bring an answer to the client, as soon as its machine takes it."""
        if (at := self.conditions.awake_at(self.events.now)) > self.events.now:
            self.events.at(at, lambda: answered(status, wait))
        else:
            answered(status, wait)
