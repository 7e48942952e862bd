"""What all sessions of a leg share."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from proofsweep.model.exchanges import Exchange
from proofsweep.partner.keys import CurrentKey
from proofsweep.partner.pacing.dispatcher import Dispatcher
from proofsweep.partner.retry import RetryPolicy
from proofsweep.partner.transport import Transport

_Result = TypeVar("_Result")


class SingleFlight(Generic[_Result]):
    """Lets one thread make a call on behalf of all that wait for the same answer; times are monotonic seconds."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._results: list[tuple[float, _Result]] = []

    def result(self, since: float, clock: Callable[[], float], call: Callable[[], _Result]) -> _Result:
        """Give the result of a call that began at or after `since`: an earlier thread's, or one that is made now."""
        with self._lock:
            if not self._results or self._results[0][0] < since:
                began_at = clock()
                self._results = [(began_at, call())]
            return self._results[0][1]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientContext:
    """What all sessions of a leg share.

    Attributes:
        base_url: ends in `/v1`, without a slash after it.
        record_unattributed: takes the exchanges that belong to no row.
        watch: is told of every exchange.
        control: asked when calls fail for many items. It returns when the service works, and says whether the item may
            go on with its tries. None where there is only one purpose, so that a refused key ends everything.
        headroom_check: asks for the calls that are left, on behalf of all sessions.
    """

    base_url: str
    transport: Transport
    dispatcher: Dispatcher
    key: CurrentKey
    policy: RetryPolicy
    record_unattributed: Callable[[Exchange], None]
    watch: Callable[[Exchange], None] = lambda _exchange: None
    control: Callable[[], bool] | None = None
    headroom_check: SingleFlight[int | None] = field(default_factory=SingleFlight)
