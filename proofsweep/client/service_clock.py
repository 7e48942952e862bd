"""The service's clock, as one process knows it: so what several machines write down has one order.

Each answer has a `Date`, in whole seconds. The service wrote it before the answer was read; so the difference of its
clock to this process's monotonic one is no less than any exchange shows, and little more than the most that one shows.
Where it can be that this machine's own clock is right, that counts: so processes of a machine, and machines whose
clocks are right, order what happens within a second.
"""

import math
from collections.abc import Callable
from datetime import UTC, datetime

from proofsweep.config.threads import Lock, monotonic, utc_now
from proofsweep.domain.exchanges import DATE_AGE

_ASTRAY_SECONDS = 5.0  # bounds that contradict each other by more: this machine slept, or its clock was stopped


class ServiceClock:
    """Tells the service's time, and this machine's until the first answer."""

    def __init__(self, own: Callable[[], datetime] = utc_now) -> None:
        self._own, self._lock = own, Lock()
        self._low, self._high = -math.inf, math.inf  # of the service's Unix time, less this process's monotonic seconds

    @property
    def is_known(self) -> bool:
        return self._high < math.inf

    def __call__(self) -> datetime:
        return self.at(monotonic()) if self.is_known else self._own()

    @property
    def behind_seconds(self) -> float:
        """How far this machine's clock is behind the service's."""
        return (self() - self._own()).total_seconds()

    def at(self, moment: float) -> datetime:
        """Return the service's time at a moment of this process's monotonic clock."""
        own_time = self._own()
        offset = own_time.timestamp() - monotonic()
        with self._lock:
            # This machine's own clock counts where it may be right: it tells more than whole seconds.
            if not self._low <= offset <= self._high:
                offset = self._low
        return datetime.fromtimestamp(moment + offset, UTC)

    def record(self, date: datetime, sent_at: float, received_at: float) -> None:
        """Take the `Date` of an answer, and the moments between which it was written."""
        latest_date = date + DATE_AGE
        low = date.timestamp() - received_at
        high = latest_date.timestamp() - sent_at
        with self._lock:
            # Bounds that contradict each other so much come from before a sleep: only the new ones hold.
            if low - self._high > _ASTRAY_SECONDS or self._low - high > _ASTRAY_SECONDS:
                self._low, self._high = low, high
            else:
                self._low = max(low, self._low)
                self._high = min(high, self._high)
            if self._low > self._high:  # the clocks of the service's machines differ, or this one's drifts
                self._low = self._high = (self._low + self._high) / 2
