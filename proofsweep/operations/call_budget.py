"""How many calls an operation may still make."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from proofsweep.errors import RunMustStop
from proofsweep.model.runs import EndedBy
from proofsweep.operations.operation_log import OperationLog


class CallBudget:
    """Keyed calls that are left to an operation. Thread-safe.

    Attributes:
        most: keyed calls in all, those before it included; None for any number.
    """

    def __init__(self, log: OperationLog, most: int | None, ended_by: EndedBy = EndedBy.WINDOW) -> None:
        """Begin; `ended_by` says what it means that none is left: a bound that was given, or the quota."""
        self.most = most
        self._log = log
        self._ended_by = ended_by
        self._promised = 0
        self._lock = threading.Lock()

    @contextmanager
    def promised(self) -> Iterator[None]:
        """Promise a call to the work inside, at whose end the log has counted it; RunMustStop if none is left."""
        with self._lock:
            if self.most is not None and self._log.counts.calls + self._promised >= self.most:
                what = "that the quota leaves" if self._ended_by is EndedBy.QUOTA else "that it was given"
                raise RunMustStop(f"Of the {self.most:,} calls {what}, none are left.", ended_by=self._ended_by)
            self._promised += 1
        try:
            yield
        finally:
            with self._lock:
                self._promised -= 1
