"""The sandbox's own time, which the operator can move."""

import time
from datetime import UTC, datetime


class Clock:
    """Wall time plus an offset: a test moves it and need not wait."""

    def __init__(self) -> None:
        self._offset = 0.0

    def now(self) -> float:
        """Return unix time in seconds, with fractions."""
        return time.time() + self._offset

    def second(self) -> int:
        """Return unix time in whole seconds, the contract's form of a timestamp."""
        return int(self.now())

    def move(self, seconds: float) -> None:
        """Move the time by `seconds`; negative values move it back."""
        self._offset += seconds


def day_of(second: float) -> str:
    """Return the ISO date of a unix time, in UTC."""
    return datetime.fromtimestamp(second, UTC).date().isoformat()


def next_month(second: float) -> int:
    """Return the unix time at which the next UTC month begins and the quotas reset."""
    today = datetime.fromtimestamp(second, UTC)
    year, month = (today.year + 1, 1) if today.month == 12 else (today.year, today.month + 1)  # noqa: PLR2004 - December
    return int(datetime(year, month, 1, tzinfo=UTC).timestamp())
