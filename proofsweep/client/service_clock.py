"""The service's clock, as one process knows it: so what several machines write down has one order.

Each answer has a `Date`, in whole seconds. The service wrote it before the answer was read; so the difference of its
clock to this process's monotonic one is no less than any exchange shows, and little more than the most that one shows.
Where it can be that this machine's own clock is right, that counts: so processes of a machine, and machines whose
clocks are right, order what happens within a second. One node of the service whose clock is wrong must not count: its
answers would be the newest ones for as long as it is ahead.
"""

import math
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from proofsweep.config.threads import Lock, monotonic, utc_now
from proofsweep.domain.exchanges import DATE_AGE

_MOST_DIFFERENCE = timedelta(days=1)  # of a `Date` that counts, to what is known
_MOST_OF_FIRST = timedelta(days=36_525)  # of the first one: a machine without a battery begins in 1970
_ASTRAY_SECONDS = 5.0  # bounds that contradict each other by more: this machine slept, or its clock was stopped


class ServiceClock:
    """Tells the service's time, and this machine's until the first answer."""

    def __init__(self, own: Callable[[], datetime] = utc_now) -> None:
        self._own, self._lock = own, Lock()
        self._has_ignored = False
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

    def counts(self, date: datetime, sent_at: float) -> bool:
        """Whether the `Date` of an answer that came now may be right. The first one that may not is told to a person.

        It agrees with the answers before, or with this machine's clock; so a machine whose clock is wrong follows the
        service, and so does one that slept.
        """
        most = _MOST_DIFFERENCE if self.is_known else _MOST_OF_FIRST
        own_time, waited = self._own(), timedelta(seconds=monotonic() - sent_at)
        # An answer that is read days late, as by a process that was frozen, was written when it was asked for.
        is_as_known = self.at(sent_at) - most <= date <= self() + most
        is_as_own = own_time - waited - _MOST_DIFFERENCE <= date <= own_time + _MOST_DIFFERENCE
        if is_as_known or is_as_own:
            return True
        with self._lock:
            is_first, self._has_ignored = not self._has_ignored, True
        if is_first:
            _say_ignored(date)
        return False

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


def _say_ignored(date: datetime) -> None:
    from proofsweep.config.logs import LogEvent, log  # noqa: PLC0415 - commands that call nobody have the clock too
    from proofsweep.config.notices import say  # noqa: PLC0415 - the same

    at = f"{date:%Y-%m-%d %H:%M:%S}"
    log(LogEvent.DATE_IGNORED, date=at)
    say(f"an answer has the Date {at}, a day or more from the others', so it counts for nothing")
