"""Meters: the calls of a key per day, and its monthly quota."""

import sqlite3
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class MeterReading:
    """A meter's state: the monthly quota, the remaining calls, and the time of the reset (unix seconds)."""

    limit: int
    remaining: int
    reset: int

    @property
    def headers(self) -> dict[str, str]:
        """The three quota headers that the contract promises on self-service answers and on 429."""
        return {
            "x-ratelimit-limit": str(self.limit),
            "x-ratelimit-remaining": str(self.remaining),
            "x-ratelimit-reset": str(self.reset),
        }


class Meters:
    """Counts calls; usage and quota read the same counts, so they always agree."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    def count(self, meter: str, now: float) -> None:
        self._database.execute(
            "INSERT INTO usage VALUES (?, ?, 1) ON CONFLICT DO UPDATE SET used = used + 1", (meter, _day_of(now))
        )

    def read(self, meter: str, now: float) -> MeterReading:
        limit = self._limit(meter)
        used = self._used_in_month(meter, _day_of(now))
        # An operator may set the quota below what is used.
        remaining = max(0, limit - used)
        return MeterReading(limit=limit, remaining=remaining, reset=_next_month(now))

    def set_quota(self, meter: str, limit: int) -> None:
        self._database.execute("UPDATE meters SET quota = ? WHERE meter = ?", (limit, meter))

    def days(self, meter: str, now: float, count: int) -> list[dict[str, object]]:
        """Return the last `count` UTC days, oldest first: the calls, and what remained of the month at their end."""
        today = datetime.fromtimestamp(now, UTC).date()
        limit = self._limit(meter)
        days: list[dict[str, object]] = []
        for back in reversed(range(count)):
            date = today - timedelta(days=back)
            day = date.isoformat()
            used = self._used(meter, day, day)
            used_in_month = self._used_in_month(meter, day)
            remaining = max(0, limit - used_in_month)
            days.append({"date": day, "used": used, "remaining": remaining})
        return days

    def _used_in_month(self, meter: str, last_day: str) -> int:
        first_day = f"{last_day[:8]}01"
        return self._used(meter, first_day, last_day)

    def _limit(self, meter: str) -> int:
        row = self._database.execute("SELECT quota FROM meters WHERE meter = ?", (meter,)).fetchone()
        return int(row["quota"])

    def _used(self, meter: str, first_day: str, last_day: str) -> int:
        row = self._database.execute(
            "SELECT coalesce(sum(used), 0) AS used FROM usage WHERE meter = ? AND day BETWEEN ? AND ?",
            (meter, first_day, last_day),
        ).fetchone()
        return int(row["used"])


def _day_of(second: float) -> str:
    return datetime.fromtimestamp(second, UTC).date().isoformat()


def _next_month(second: float) -> int:
    """Return the unix time at which the next UTC month begins and the quotas reset."""
    moment = datetime.fromtimestamp(second, UTC)
    first_day = moment.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    # 31 days after the first of any month lies in the next one.
    in_next_month = first_day + timedelta(days=31)
    reset = in_next_month.replace(day=1)
    return int(reset.timestamp())
