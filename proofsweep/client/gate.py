"""The door that every call goes through: it makes callers wait, and it ends the leg when waiting is in vain."""

import threading
import time
from collections.abc import Callable

from proofsweep.batch.exchanges import Call, Exchange
from proofsweep.client.breaker import Breaker
from proofsweep.client.pacer import Pacer
from proofsweep.client.question import Question
from proofsweep.client.retry import is_spent_slot, is_transient
from proofsweep.client.stop import StopSwitch
from proofsweep.errors import RunMustStop


class Gate:
    """Thread-safe front of pacer and breaker; `clock` gives monotonic seconds.

    Attributes:
        stop: the leg's switch.
        question: asks for the headroom on behalf of all.
    """

    def __init__(
        self, pacer: Pacer, breaker: Breaker, stop: StopSwitch, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.stop = stop
        self._pacer = pacer
        self._breaker = breaker
        self._clock = clock
        self._lock = threading.Lock()
        self.question = Question()

    def wait_turn(self) -> None:
        """Come back when a call may go; a call that need not wait goes also while the leg ends, to finish work in hand.

        Raises:
            RunMustStop: the leg ends, and the call would have had to wait.
        """
        while (wait := self._wait_seconds()) > 0:
            self.stop.rest(wait)

    def pause_all(self, call: Call, wait_seconds: float) -> None:
        """Hold everybody back for so long; ends the leg when no such call was let through for too long."""
        with self._lock:
            now = self._clock()
            self._pacer.was_throttled(call, now, wait_seconds)
            hopeless = self._pacer.is_hopeless(call, now)
        if hopeless:
            self.stop.pull(
                RunMustStop("The service asks for a longer wait than a run should make.", ended_by="breaker")
            )

    def learn(self, exchange: Exchange) -> None:
        """Take note of an exchange; ends the leg when its call fails for everyone."""
        with self._lock:
            tripped = self._note(exchange)
        if tripped:
            self.stop.pull(RunMustStop(_storm(exchange), ended_by="breaker"))

    def others_fail_too(self, exchange: Exchange, own_failures: int) -> bool:
        """Say whether this failure is everybody's, so that the item must not be blamed for it."""
        with self._lock:
            return self._breaker.others_fail_too(exchange.call, own_failures)

    def _note(self, exchange: Exchange) -> bool:
        if is_transient(exchange) or is_spent_slot(exchange):
            return self._breaker.failed(exchange.call, self._clock())
        self._breaker.succeeded(exchange.call)
        if exchange.call.is_keyed and not exchange.is_throttled:
            self._pacer.was_admitted(exchange.call)
        return False

    def _wait_seconds(self) -> float:
        with self._lock:
            return self._pacer.wait_seconds(self._clock())


def _storm(exchange: Exchange) -> str:
    last = exchange.failure or f"status {exchange.status}"
    return f"The service fails for everyone: the call {exchange.call} failed again and again, at last with {last}."
