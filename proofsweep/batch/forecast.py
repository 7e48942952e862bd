"""What a run will cost, before it starts: pure (contract, Limits)."""

from dataclasses import dataclass
from datetime import datetime

from proofsweep.contract.limits import CALLS_PER_ITEM


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """Calls and time of a run.

    Attributes:
        calls: keyed calls if nothing has to be tried again.
        headroom: keyed calls left in this quota window; None when the service could not be asked.
        quota_reset: when the window ends.
        seconds: how long it will take at the pace of the newest finished run here; None without one.
    """

    calls: int
    headroom: int | None
    quota_reset: datetime | None
    seconds: float | None

    @property
    def rows_short(self) -> int:
        """How many rows would be left over for want of quota; 0 when it fits or is not known."""
        if self.headroom is None or self.headroom >= self.calls:
            return 0
        return -(-(self.calls - max(0, self.headroom)) // CALLS_PER_ITEM)


def forecast(
    eligible: int, *, headroom: int | None, quota_reset: datetime | None, rows_per_second: float | None
) -> Forecast:
    """Say what so many eligible items will cost."""
    return Forecast(
        calls=eligible * CALLS_PER_ITEM,
        headroom=headroom,
        quota_reset=quota_reset,
        seconds=eligible / rows_per_second if rows_per_second else None,
    )
