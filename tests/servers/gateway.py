"""A gateway before the foreign service: some nodes, each with a token bucket of its own, and refusals at random.

It refuses with 429.
"""

import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from email.utils import formatdate
from http import HTTPStatus

from .foreign_service import Answer

LONGEST_WAIT_FOR_OTHERS_SECONDS = 5.0  # then a client that sends fewer first calls at once gets its answers too

RETRY_AFTERS: dict[str, Callable[[random.Random], str | None]] = {
    "whole seconds": lambda chance: chance.choice(["1", "2"]),
    "zero": lambda _chance: "0",
    "absent": lambda _chance: None,
    "an HTTP date": lambda chance: formatdate(time.time() + chance.choice([1, 2]), usegmt=True),
    "a fraction": lambda chance: f"{chance.uniform(0.1, 1.5):.3f}",
    "junk": lambda chance: chance.choice(["soon", "-1", "1 s", "", "nan", "0x10", "1,2"]),
}
"""What a refusal may say about the wait, by its kind."""


@dataclass(slots=True, kw_only=True)
class NodeGateway:
    """The gateway of one leg."""

    rate: float  # calls per second of all nodes together
    burst: float  # calls that each node's bucket holds; it begins full
    nodes: int = 1
    refused_share: float = 0.0  # the part of the calls that is refused at random, whatever the buckets hold
    refused_first: int = 0  # so many first calls are refused, as at random, and all at the same moment
    chance: random.Random = field(default_factory=random.Random)
    # the number of 429s by their kind of `Retry-After`; those of an empty bucket are `empty bucket`
    refusals: Counter[str] = field(default_factory=Counter)
    _tokens: list[float] = field(init=False)
    _filled_at: float = field(default_factory=time.monotonic)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _first: threading.Barrier = field(init=False)

    def __post_init__(self) -> None:
        self._first = threading.Barrier(max(1, self.refused_first))
        self._tokens = [self.burst] * self.nodes

    def change(self, _number: int, usual: Answer) -> Answer:
        """Let a call through to the usual answer, or refuse it."""
        with self._lock:
            is_first = sum(self.refusals.values()) < self.refused_first
            refusal = self._refusal()
        if is_first:
            with suppress(threading.BrokenBarrierError):
                self._first.wait(LONGEST_WAIT_FOR_OTHERS_SECONDS)
        return refusal or usual

    def _refusal(self) -> Answer | None:
        now = time.monotonic()
        added = (now - self._filled_at) * self.rate / self.nodes
        self._tokens = [min(self.burst, tokens + added) for tokens in self._tokens]
        self._filled_at = now
        node = self.chance.randrange(self.nodes)
        if self.chance.random() < self.refused_share or sum(self.refusals.values()) < self.refused_first:
            return self._refused_at_random()
        if self._tokens[node] < 1:
            self.refusals["empty bucket"] += 1
            return Answer(HTTPStatus.TOO_MANY_REQUESTS, {"code": "throttled"}, headers={"Retry-After": "1"})
        self._tokens[node] -= 1
        return None

    def _refused_at_random(self) -> Answer:
        """Refuse with each kind of header in turn."""
        kinds = list(RETRY_AFTERS)
        kind = kinds[sum(self.refusals[each] for each in kinds) % len(kinds)]
        self.refusals[kind] += 1
        text = RETRY_AFTERS[kind](self.chance)
        headers = {} if text is None else {"Retry-After": text}
        return Answer(HTTPStatus.TOO_MANY_REQUESTS, {"code": "throttled"}, headers=headers)
