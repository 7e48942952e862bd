"""What a person allows one leg to spend: calls, time, and a reserve for other users of the key. Pure."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from proofsweep.domain.errors import UsageError

_INSTANT = re.compile(r"(?:(\d{4}-\d\d-\d\d)[ T])?(\d{1,2}:\d\d(?::\d\d)?) ?(Z|[+-]\d\d:?\d\d|[A-Za-z][\w/+-]*)?")
_DURATION = re.compile(r"(?:(\d+)d)?\s*(?:(\d+)h)?\s*(?:(\d+)m(?:in)?)?\s*(?:(\d+)s)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    max_calls: int | None = None  # keyed calls of the leg, its probes of the quota included; None for any number
    closes_at: datetime | None = None  # the instant from which no new item begins; None for never
    reserve: int = 0  # calls of the quota that are left to other users of the key


def left_of(bounds: Bounds, calls: int, now: datetime) -> Bounds | None:
    """Return the limits of a second leg after one that made so many calls; None if nothing is left for it."""
    if bounds.closes_at is not None and bounds.closes_at <= now:
        return None
    if bounds.max_calls is None:
        return bounds
    return replace(bounds, max_calls=bounds.max_calls - calls) if bounds.max_calls > calls else None


def closing_of(
    until: str | None, max_duration: str | None, now: datetime, zone: tzinfo | None = None
) -> datetime | None:
    """Return the UTC instant at which the window closes: the earlier of the two; None if neither is given.

    Args:
        until: `06:00`, `06:00 Europe/Berlin`, `06:00+02:00`, or an ISO instant; without a zone, `zone` applies.
        max_duration: `7h`, `90m`, `1h30m`.
        now: when the command began, with a zone.
        zone: None for the machine's own.

    UsageError if one of them cannot be read, or has no zone while the machine's is not known.
    """
    closings = [] if until is None else [instant_of(until, now, zone)]
    closings += [] if max_duration is None else [now.astimezone(UTC).replace(microsecond=0) + duration_of(max_duration)]
    return min(closings, default=None)


def instant_of(until: str, now: datetime, zone: tzinfo | None = None) -> datetime:
    """Read when a window closes. A time without a date is the next moment at which a clock in its zone shows it.

    A time whose date is past is given as it is. UsageError if it cannot be read.
    """
    day, wanted, where = _parts_of(until, zone)
    today = now.astimezone(where).date()
    days = [today + timedelta(days=ahead) for ahead in range(3)] if day is None else [day]
    moments = [moment for each in days for moment in _moments(each, wanted, where)]
    return min((moment for moment in moments if moment > now), default=moments[-1])


def duration_of(text: str) -> timedelta:
    """Read a time span like `30d`, `7h`, `90m` or `1h30m`.

    UsageError if it cannot be read, is zero or is longer than a year.
    """
    found = _DURATION.fullmatch(text.strip())
    days, hours, minutes, seconds = (int(part or 0) for part in found.groups()) if found else (0, 0, 0, 0)
    try:
        span = timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)
    except OverflowError:
        span = timedelta()
    if not timedelta() < span < timedelta(days=366):
        raise UsageError(f"{text!r} is not a time span of up to a year; write it like 30d, 7h, 90m or 1h30m.")
    return span


_NAMES_OF_UTC = {"UTC", "UCT", "GMT", "WET", "Zulu", "+00", "-00"}


def utc_of(moment: datetime) -> datetime:
    """Return a moment in UTC. One without a zone is of this machine's clock; UsageError if TZ names an unknown zone.

    The system also knows zones of POSIX such as `CET-1CEST,M3.5.0,M10.5.0/3`. An unknown one is UTC to it, under the
    first letters of the name.
    """
    here = moment.astimezone()
    if moment.tzinfo is None and not here.utcoffset() and here.tzname() not in _NAMES_OF_UTC:
        raise UsageError(
            f"This machine does not know its time zone (TZ begins with {here.tzname()!r}): set TZ to one such as "
            "Europe/Berlin, or give the time with its zone, like '06:00 Europe/Berlin' or 2026-11-21T06:00+01:00."
        )
    return here.astimezone(UTC)


def _parts_of(until: str, zone: tzinfo | None) -> tuple[date | None, time, tzinfo | None]:
    found = _INSTANT.fullmatch(until.strip())
    try:
        day, clock, where = found.groups() if found else ("", "", "")
        wanted = time.fromisoformat(clock.rjust(len(clock) + (clock[1:2] == ":"), "0"))
        return (date.fromisoformat(day) if day else None), wanted, _zone_of(where) if where else zone
    except (ZoneInfoNotFoundError, ValueError) as error:
        examples = "06:00, '06:00 Europe/Berlin' or 2026-11-21T06:00+01:00"
        raise UsageError(f"{until!r} is not a time or names an unknown zone; write it like {examples}.") from error


def _zone_of(where: str) -> tzinfo:
    is_offset = where[0] in "+-" or where == "Z"
    return datetime.strptime(where, "%z").tzinfo or UTC if is_offset else ZoneInfo(where)


def _moments(day: date, wanted: time, zone: tzinfo | None) -> Iterator[datetime]:
    """Yield the instants at which a clock in this zone shows this time.

    A time that is repeated when clocks go back gives two. A time that is skipped when clocks go forward gives the
    instant at which they go forward.
    """
    wall = datetime.combine(day, wanted)
    both = sorted(utc_of(wall.replace(tzinfo=zone, fold=fold)) for fold in (0, 1))
    shown = [at for at in both if at.astimezone(zone).replace(tzinfo=None) == wall]
    if shown:
        yield from dict.fromkeys(shown)
        return
    seconds = range(int((both[1] - both[0]).total_seconds()) + 1)
    after = (both[0] + timedelta(seconds=second) for second in seconds)
    yield next(at for at in after if at.astimezone(zone).replace(tzinfo=None) > wall)


_JUST_RESET = timedelta(minutes=1)  # a run that begins so soon after the reset has probably waited for it
_MAX_SPREAD_SECONDS = 5.0  # longest random wait after a reset, so that waiting runs do not begin together


def seconds_after_reset(reset: datetime | None, now: datetime, chance: float) -> float:
    """Return how long to wait before the first file if the quota has just reset, so that not all runs begin together.

    Args:
        reset: when the quota was due to reset; None if not known.
        now: when the partner had calls again.
        chance: 0 to 1, drawn anew by each run.
    """
    is_just_reset = reset is not None and timedelta() <= now - reset < _JUST_RESET
    return chance * _MAX_SPREAD_SECONDS if is_just_reset else 0.0
