"""When a window closes, and also in the nights when clocks change."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from proofsweep.domain.errors import UsageError
from proofsweep.domain.runs import Bounds, closing_of, duration_of, instant_of, left_of

BERLIN = ZoneInfo("Europe/Berlin")


def utc(text: str) -> datetime:
    """Read an instant of 2026 in UTC."""
    return datetime.fromisoformat(f"2026-{text}:00+00:00")


@pytest.mark.parametrize(
    ("until", "now", "closes"),
    [
        ("06:00", "11-20T21:00", "11-21T05:00"),
        ("6:00", "11-20T21:00", "11-21T05:00"),
        ("23:30", "11-20T21:00", "11-20T22:30"),
        ("22:00", "11-20T21:00", "11-21T21:00"),  # it is 22:00 right now, so tomorrow
        ("06:00 UTC", "11-20T21:00", "11-21T06:00"),
        ("06:00 America/New_York", "11-20T21:00", "11-21T11:00"),
        ("06:00+09:00", "11-20T21:30", "11-21T21:00"),
        ("06:00 -0500", "11-20T21:30", "11-21T11:00"),
        ("06:00Z", "11-20T21:30", "11-21T06:00"),
        ("2026-11-22T06:00", "11-20T21:00", "11-22T05:00"),
        ("2026-11-22 06:00", "11-20T21:00", "11-22T05:00"),
        ("2026-11-22T06:00Z", "11-20T21:00", "11-22T06:00"),
        ("2026-11-22T06:00-05:00", "11-20T21:00", "11-22T11:00"),
        ("2026-11-22 06:00 Europe/London", "11-20T21:00", "11-22T06:00"),
    ],
)
def test_a_window_closes_when_the_clock_there_shows_the_time(until: str, now: str, closes: str) -> None:
    """A time without a zone is in the machine's zone, here Berlin."""
    assert instant_of(until, utc(now), BERLIN) == utc(closes)


@pytest.mark.parametrize(
    ("until", "now", "closes"),
    [
        # 29 March: at 02:00 (01:00 UTC) the clocks are put forward to 03:00
        ("02:30", "03-28T21:00", "03-29T01:00"),  # never shown: the moment they jump over it
        ("02:00", "03-28T21:00", "03-29T01:00"),
        ("03:00", "03-28T21:00", "03-29T01:00"),
        ("01:59", "03-28T21:00", "03-29T00:59"),
        ("06:00", "03-28T21:00", "03-29T04:00"),
        ("02:30", "03-29T01:00", "03-30T00:30"),  # jumped over already: the next night's
        ("2026-03-29T02:30", "03-28T21:00", "03-29T01:00"),
        # 25 October: at 03:00 (01:00 UTC) they are put back to 02:00
        ("02:30", "10-24T21:00", "10-25T00:30"),  # the first of two
        ("02:30", "10-25T00:45", "10-25T01:30"),  # the second
        ("02:30", "10-25T01:45", "10-26T01:30"),
        ("03:00", "10-24T21:00", "10-25T02:00"),
        ("06:00", "10-24T21:00", "10-25T05:00"),
        ("2026-10-25T02:30", "10-25T00:45", "10-25T01:30"),
    ],
)
def test_a_window_closes_in_nights_when_clocks_change(until: str, now: str, closes: str) -> None:
    """A repeated time counts when it is next shown; a skipped time counts when the clock jumps over it."""
    assert instant_of(until, utc(now), BERLIN) == utc(closes)


@pytest.mark.parametrize("until", ["02:00", "02:30", "03:00"])
def test_a_closing_is_in_the_future_and_at_most_25_hours_away(until: str) -> None:
    """At any hour of the year."""
    for step in range(1250):
        now = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=7 * step)
        assert timedelta() < instant_of(until, now, BERLIN) - now <= timedelta(hours=25)


@pytest.mark.parametrize("until", ["", "25:00", "6", "soon", "06:00 Europe/Berlim", "06:00 ../etc/passwd", "06:61"])
def test_an_unreadable_time_is_refused_in_one_line(until: str) -> None:
    """The line says what to write instead."""
    with pytest.raises(UsageError, match="write it like") as refused:
        instant_of(until, utc("11-20T21:00"), BERLIN)

    assert "\n" not in refused.value.message


def test_a_closing_in_the_past_is_given_as_it_is() -> None:
    """The caller decides: before a run it is a mistake; in a flow that began late the window is over."""
    assert instant_of("2026-10-25T02:30", utc("11-20T21:00"), BERLIN) == utc("10-25T01:30")


@pytest.mark.parametrize(
    ("text", "minutes"), [("7h", 420), ("90m", 90), ("1h30m", 90), ("90s", 1.5), ("1d", 1440), ("1h 5min", 65)]
)
def test_a_duration_is_read(text: str, minutes: float) -> None:
    """It has days, hours, minutes and seconds."""
    assert duration_of(text) == timedelta(minutes=minutes)


@pytest.mark.parametrize("text", ["", "7", "0h", "h", "-1h", "7 hours", "9" * 30 + "d", "400d"])
def test_an_unreadable_duration_is_refused(text: str) -> None:
    """An empty one is refused too: nothing could be done in it."""
    with pytest.raises(UsageError, match="not a time span"):
        duration_of(text)


def test_the_earlier_of_two_closings_counts() -> None:
    """Without any, the window never closes."""
    now = utc("11-20T21:00")

    assert closing_of("06:00", "7h", now, BERLIN) == utc("11-21T04:00")
    assert closing_of("23:00", "7h", now, BERLIN) == utc("11-20T22:00")
    assert closing_of(None, None, now, BERLIN) is None


@pytest.mark.parametrize(
    ("max_calls", "closes", "left"),
    [
        (None, None, Bounds()),
        (10, None, Bounds(max_calls=3)),
        (7, None, None),
        (6, None, None),
        (None, "11-20T21:01", Bounds(closes_at=utc("11-20T21:01"))),
        (10, "11-20T21:00", None),
    ],
)
def test_a_second_leg_has_what_the_first_one_left(
    max_calls: int | None, closes: str | None, left: Bounds | None
) -> None:
    """The first made seven calls; it is nine o'clock."""
    bounds = Bounds(max_calls=max_calls, closes_at=None if closes is None else utc(closes))

    assert left_of(bounds, 7, utc("11-20T21:00")) == left
