"""Tell a service that fails for everything from one item that cannot be had."""

import threading

from proofsweep.errors import CallFailed, RunMustStop
from proofsweep.model.runs import EndedBy
from proofsweep.partner.partner import Partner

# Chosen: half ends an operation when a few proofs cannot be had; twice spends twice the calls in an outage.
_MOST_FAILURES = 10


class OutageGuard:
    """Stops an operation after too many failed calls in a row. Thread-safe."""

    def __init__(self, partner: Partner, most_failures: int = _MOST_FAILURES) -> None:
        self._stop = partner.session.context.dispatcher.stop
        self._most_failures = most_failures
        self._in_a_row = 0
        self._lock = threading.Lock()

    def answered(self) -> None:
        """Take note of an answer; a refusal of one item is one too."""
        with self._lock:
            self._in_a_row = 0

    def failed(self, error: CallFailed) -> None:
        """Take note of a call that failed for good; RunMustStop if the service fails for all."""
        if error.reason.startswith("http_4"):
            self.answered()
            return
        with self._lock:
            self._in_a_row += 1
            is_outage = self._in_a_row >= self._most_failures
        if is_outage:
            self._stop.pull(RunMustStop(f"The service fails for everything: {error.message}", ended_by=EndedBy.BREAKER))
            self._stop.check()
