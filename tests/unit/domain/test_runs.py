"""How a run is cut into batches, when a leg is dead, and when its window closes and its quota resets."""

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest

from proofsweep.domain.errors import UsageError
from proofsweep.domain.runs import Bounds, closing_of, duration_of, instant_of, left_of, new_run_id
from proofsweep.domain.text import reset_clause

from ...worlds.ended_runs import plan_of_run

NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize("items", [0, 1, 9_999, 10_000, 10_001, 25_000])
def test_batches_cover_every_row_once(items: int) -> None:
    batches = plan_of_run("20261120T120000Z_000aa", items).batches

    assert [row for batch in batches for row in batch] == list(range(items))
    assert all(len(batch) <= 10_000 for batch in batches)


def test_run_ids_sort_by_time() -> None:
    """Runs of machines in different time zones sort too; a run ID has no hyphen."""
    earlier = new_run_id(NOON.astimezone(timezone(timedelta(hours=9))), "zz")
    later = new_run_id(NOON + timedelta(milliseconds=1), "aa")

    assert earlier < later
    assert earlier == "20261120T120000Z_000zz"
    assert "-" not in earlier


BERLIN = ZoneInfo("Europe/Berlin")


def utc(text: str) -> datetime:
    return datetime.fromisoformat(f"2026-{text}:00+00:00")


@pytest.mark.parametrize(
    ("until", "now", "closes"),
    [
        ("06:00", "11-20T21:00", "11-21T05:00"),
        ("23:30", "11-20T21:00", "11-20T22:30"),
        ("22:00", "11-20T21:00", "11-21T21:00"),  # it is 22:00 right now, so tomorrow
        ("06:00 UTC", "11-20T21:00", "11-21T06:00"),
        ("06:00 America/New_York", "11-20T21:00", "11-21T11:00"),
        ("06:00+09:00", "11-20T21:30", "11-21T21:00"),
        ("06:00Z", "11-20T21:30", "11-21T06:00"),
        ("2026-11-22T06:00", "11-20T21:00", "11-22T05:00"),
        ("06:00", "03-28T21:00", "03-29T04:00"),  # the clocks are put forward in this night
        ("2026-11-22T06:00-05:00", "11-20T21:00", "11-22T11:00"),
        ("2026-11-22 06:00 Europe/London", "11-20T21:00", "11-22T06:00"),
    ],
)
def test_a_window_closes_when_the_clock_there_shows_the_time(until: str, now: str, closes: str) -> None:
    """A time without a zone is in the machine's zone, here Berlin."""
    assert instant_of(until, utc(now), BERLIN) == utc(closes)


@pytest.mark.parametrize("until", ["", "25:00", "6", "soon", "06:00 Europe/Berlim", "06:00 ../etc/passwd", "06:61"])
def test_an_unreadable_time_is_refused_in_one_line(until: str) -> None:
    with pytest.raises(UsageError, match="write it like") as refused:
        instant_of(until, utc("11-20T21:00"), BERLIN)

    assert "\n" not in refused.value.message


@pytest.mark.parametrize(
    ("text", "minutes"), [("7h", 420), ("90m", 90), ("1h30m", 90), ("90s", 1.5), ("1d", 1440), ("1h 5min", 65)]
)
def test_a_duration_is_read(text: str, minutes: float) -> None:
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


NOW = datetime(2026, 11, 20, tzinfo=UTC)


@pytest.mark.parametrize("reset", [None, NOW, NOW - timedelta(days=1)])
def test_a_reset_that_is_past_or_missing_says_nothing(reset: datetime | None) -> None:
    assert reset_clause(reset, NOW) == "its reset time is not known"
    assert reset_clause(NOW + timedelta(days=11), NOW) == "it resets 2026-12-01 00:00 UTC"


def test_partitions_cover_every_row_once() -> None:
    plan = plan_of_run("20261120T120000Z_000aa", 1_000, partitions=3)

    rows = [plan.rows_of_partition(partition) for partition in range(3)]

    assert [row for each in rows for row in each] == list(range(1_000))
    assert {len(each) for each in rows} == {333, 334}
    assert [plan.partition_of_leg(leg) for leg in (1, 2, 3, 4, 5)] == [0, 1, 2, 0, 1]
