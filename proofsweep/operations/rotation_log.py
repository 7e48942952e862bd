"""Write down the calls of all commands that work at one rotation, and its receipt at the end."""

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime

from proofsweep.endings import EndedBy
from proofsweep.errors import NameTaken
from proofsweep.model.exchanges import Exchange
from proofsweep.model.key_rotation import RotationIntent
from proofsweep.model.operations import Operation
from proofsweep.operations.operation_log import OperationLog
from proofsweep.store.operations import Operations


class RotationLog:
    """Keeps the calls of one command in memory until they can be written."""

    def __init__(
        self, operations: Operations, new_operation: Callable[[], Operation], clock: Callable[[], datetime]
    ) -> None:
        """Begin; `new_operation` names one for calls that come after the end of their rotation."""
        self._operations = operations
        self._new_operation = new_operation
        self._clock = clock
        self._calls: list[Exchange] = []

    def note(self, exchange: Exchange) -> None:
        """Take one HTTP exchange."""
        self._calls.append(exchange)

    def is_closed(self, intent: RotationIntent) -> bool:
        """Return whether a rotation has its receipt."""
        return self._operations.receipt(intent.operation_id) is not None

    def close(self, intent: RotationIntent) -> None:
        """Write the calls and the receipt, unless another command has closed the rotation."""
        if not self.is_closed(intent):
            log = OperationLog(intent.operation, self._operations, self._clock)
            log.continue_after_kill()
            self._end(log, intent)

    def flush(self, intent: RotationIntent | None) -> None:
        """Write the calls of a command that does not finish its rotation, or that came after another one had."""
        if self._calls and (intent is None or self.is_closed(intent)):
            self._end(OperationLog(self._new_operation(), self._operations, self._clock), intent)
        elif self._calls and intent is not None:
            self._handed_over(OperationLog(intent.operation, self._operations, self._clock)).flush()

    def _end(self, log: OperationLog, intent: RotationIntent | None) -> None:
        facts = {} if intent is None else {"key_fingerprint": intent.key_fingerprint}
        with suppress(NameTaken):
            self._handed_over(log).end(EndedBy.COMPLETE, facts)

    def _handed_over(self, log: OperationLog) -> OperationLog:
        while self._calls:
            log.note(self._calls.pop(0))
        return log
