"""The simulated service behind the gateway, and the network to it: the slow profile."""

from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from random import Random

from benchmarks.simulation.event_queue import EventQueue
from benchmarks.simulation.gateways import Gateway
from benchmarks.simulation.network import Stalls, Uplink

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
    """Answers calls in simulated time.

    Attributes:
        failing: the part of the calls let in that is answered with 500.
        jitter_seconds: mean of the random part of a one-way trip.
        work_seconds: the bounds of the time that any call takes; None for the slow profile.
        stalls: the times in which nothing leaves the client's machine, and no answer enters it.
        uplink: the link that all uploads share; None if each has a link of its own.
    """

    events: EventQueue
    gateway: Gateway
    chance: Random
    failing: float = 0.0
    jitter_seconds: float = 0.005
    work_seconds: tuple[float, float] | None = None
    stalls: Stalls = field(default_factory=Stalls)
    uplink: Uplink | None = None
    traffic: Traffic = field(default_factory=Traffic)
    _slots: dict[Hashable, float] = field(default_factory=dict)

    def call(self, item: Hashable, *, is_verify: bool, answered: Answered) -> None:
        """Send a call that requests a slot or verifies one."""
        leaves_at = self.stalls.end_after(self.events.now)
        self.events.at(leaves_at + self._trip_seconds(), lambda: self._arrive(item, is_verify, answered))

    def upload(self, uploaded: Callable[[float], None]) -> None:
        """Upload a file, and tell its size when it is done; without a shared link each second carries a megabyte."""
        if self.uplink is None:
            seconds = self.upload_seconds()
            self.events.at(self.events.now + seconds, lambda: uploaded(seconds))
        else:
            self.uplink.send(uploaded)

    def upload_seconds(self) -> float:
        """Draw the duration of an upload: 0.05 to 10 s."""
        return float(0.05 * 200 ** self.chance.random())

    def _arrive(self, item: Hashable, is_verify: bool, answered: Answered) -> None:
        now = self.events.now
        if self.gateway.refuses(now):
            self.traffic.refused[int(now)] += 1
            wait = self.gateway.retry_after(now)
            self.events.at(now + self._trip_seconds(), lambda: self._reach(answered, 429, wait))
            return
        self.traffic.admitted[int(now)] += 1
        if is_verify and item in self._slots:
            self.traffic.slot_ages.append(now - self._slots.pop(item))
        self.events.at(now + self._work_seconds(is_verify), lambda: self._finish(item, is_verify, answered))

    def _finish(self, item: Hashable, is_verify: bool, answered: Answered) -> None:
        self.gateway.release()
        status = 500 if self.chance.random() < self.failing else 200
        if status == 200 and not is_verify:  # noqa: PLR2004 - a status
            self._slots[item] = self.events.now
        self.events.at(self.events.now + self._trip_seconds(), lambda: self._reach(answered, status, None))

    def _reach(self, answered: Answered, status: int, wait: float | None) -> None:
        """Bring an answer to the client, as soon as its machine takes it."""
        if (at := self.stalls.end_after(self.events.now)) > self.events.now:
            self.events.at(at, lambda: answered(status, wait))
        else:
            answered(status, wait)

    def _work_seconds(self, is_verify: bool) -> float:
        if self.work_seconds is not None:
            least, most = self.work_seconds
            return float(least * (most / least) ** self.chance.random())
        if is_verify:
            return float(0.1 * 30 ** self.chance.random())
        return 0.03 + self.chance.expovariate(50)

    def _trip_seconds(self) -> float:
        return 0.015 + self.chance.expovariate(1 / self.jitter_seconds)
