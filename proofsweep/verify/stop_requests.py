"""Stop a leg that somebody, on any machine, has asked to stop in the results store."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from proofsweep.client.stop import StopSwitch
from proofsweep.config.logs import Event, log
from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import RunMustStop
from proofsweep.domain.text import printable
from proofsweep.store.active_legs import stop_asked_on
from proofsweep.store.legs import Legs

_LOOK_SECONDS = 4.0  # bounds the requests to a bucket, and how late a request is seen


@dataclass(slots=True, kw_only=True)
class StopRequests:
    """Looks for a request to stop a leg, and stops it as Ctrl-C does; used by one thread."""

    legs: Legs
    leg: int
    stop: StopSwitch
    drain_seconds: float  # time that items in flight have then
    abort: Callable[[], None]  # abandons the items in flight
    _token: str | None = field(default=None, repr=False)
    _look_at: float = -math.inf
    _abort_at: float | None = None

    def look(self) -> None:
        """Look for a request when that is due, and abandon what is in flight when its time is over.

        Raises:
            ResultsError: the store cannot be read.
        """
        now = self.legs.uptime()
        if self._abort_at is not None:
            if now >= self._abort_at:
                self._abort_at = math.inf
                self.abort()
        elif now >= self._look_at:
            self._look_at = now + _LOOK_SECONDS
            self._look(now)

    def _look(self, now: float) -> None:
        if self._token is None:
            claim = self.legs.holder(self.leg)
            self._token = "" if claim is None else claim.token
        host = stop_asked_on(self.legs, self.leg, self._token) if self._token else None
        if host is None:
            return
        self._abort_at = now + self.drain_seconds
        log(Event.STOP_REQUESTED, run_id=self.legs.run_id, leg=self.leg, host=host)
        why = f"It was stopped by `proofsweep stop`, asked on {printable(host)}."
        self.stop.pull(RunMustStop(why, ended_by=EndedBy.CANCELLED))
