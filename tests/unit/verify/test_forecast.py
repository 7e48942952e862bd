"""A forecast says of cost and time only what is known: rates, links, workers, and what bounds a leg."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from proofsweep.domain.runs import Bounds
from proofsweep.verify.forecast import Bind, Means, Measurement, forecast

NOW = datetime(2026, 11, 20, 21, 0, tzinfo=UTC)
DECEMBER = datetime(2026, 12, 1, tzinfo=UTC)
NEED = 1_000, 10_000_000
LEG = Measurement(rows=100, seconds=50.0, calls=202, sent_bytes=2_000_000, call_seconds=0.5, upload_seconds=0.1)
TWENTY = Means(rate=20.0)
"""A rate of 20 calls a second: ten files a second."""
SLOW_UPLOADS = replace(LEG, call_seconds=1.1, upload_seconds=1.0)


def test_without_history_no_end_is_said() -> None:
    """Calls and quota are forecast all the same; of copies, the quota must have the calls, for they may be none."""
    cost = forecast(*NEED, Means(headroom=2_001, reset=DECEMBER), None, NOW, may_be_free=30)

    assert (cost.calls_least, cost.calls, cost.calls_expected, cost.rows_short) == (1_940, 2_000, 2_002, 0)
    assert (cost.seconds, cost.ends_at, cost.binds, cost.measured_rows) == (None, None, None, None)
    assert cost.seconds_range == (40.0, 400.0)
    nothing = forecast(0, 0, Means(), None, NOW)
    assert (nothing.calls, nothing.calls_of_quota, nothing.calls_expected) == (0, 2, 2)


@pytest.mark.parametrize(
    ("leg", "means", "audio_bytes", "binds", "seconds"),
    [
        (LEG, TWENTY, 0, Bind.LANE, 100.0),
        # not the speed of the last night, but the rate that was learned; failures take calls
        (replace(LEG, seconds=500.0), TWENTY, 0, Bind.LANE, 100.0),
        (replace(LEG, calls=302), TWENTY, 0, Bind.LANE, 150.0),
        (replace(LEG, calls=302, throttled=100), TWENTY, 0, Bind.LANE, 100.0),
        # refused, and no rate learned: the pace that went through
        (replace(LEG, throttled=2, calls=204), Means(), 0, Bind.LANE, 500.0),
        # two uploads at once, and the lane not full: 40 kB/s
        (SLOW_UPLOADS, Means(rate=40.0), 4_000_000, Bind.UPLINK, 100.0),
        (SLOW_UPLOADS, Means(rate=40.0), 8_000_000, Bind.UPLINK, 200.0),
        (SLOW_UPLOADS, replace(TWENTY, rate=4.0), 8_000_000, Bind.LANE, 500.0),
        (replace(SLOW_UPLOADS, upload_seconds=0.1), TWENTY, 8_000_000, Bind.LANE, 100.0),
        # four workers, two seconds for a file
        (replace(LEG, call_seconds=2.0), replace(TWENTY, workers=4), 0, Bind.THREADS, 500.0),
    ],
)
def test_the_end_goes_by_the_lowest_limit(
    leg: Measurement, means: Means, audio_bytes: int, binds: Bind, seconds: float
) -> None:
    """A thing that was not full in a leg bounds nothing."""
    cost = forecast(1_000, audio_bytes, means, leg, NOW)

    assert (cost.binds, cost.pace_binds, cost.seconds) == (binds, binds, pytest.approx(seconds, rel=0.02))
    assert (cost.seconds_range, cost.ends_at) == (None, NOW + timedelta(seconds=cost.seconds or 0))


def test_while_no_call_was_refused_the_end_is_a_range() -> None:
    """From what the workers could do, to the pace that the service let through: nobody knows its lane."""
    cost = forecast(*NEED, Means(), LEG, NOW)

    assert (cost.binds, cost.ends_at) == (Bind.THREADS, None)
    assert cost.seconds_range == (pytest.approx(3.9, rel=0.02), 500.0)


@pytest.mark.parametrize(
    ("headroom", "reserve", "short"),
    [(2_001, 0, 0), (2_000, 0, 1), (2_500, 500, 1), (2_501, 500, 0), (0, 0, 1_000), (10, 50, 1_000), (None, 0, None)],
)
def test_rows_that_the_quota_does_not_cover_are_counted(headroom: int | None, reserve: int, short: int | None) -> None:
    """Each row takes two calls, and the last probe one; reserved calls do not count."""
    means = replace(TWENTY, headroom=headroom, bounds=Bounds(reserve=reserve))

    assert forecast(*NEED, means, None, NOW).rows_short == short


@pytest.mark.parametrize(
    ("bounds", "headroom", "left", "binds", "seconds"),
    [
        (Bounds(max_calls=202), None, 900, Bind.CALLS, 10.0),
        (Bounds(max_calls=2_002), None, 0, Bind.LANE, 100.0),
        (Bounds(closes_at=NOW + timedelta(seconds=20)), None, 800, Bind.WINDOW, 20.0),
        (Bounds(closes_at=NOW + timedelta(seconds=100)), None, 0, Bind.LANE, 100.0),
        (Bounds(closes_at=NOW - timedelta(seconds=1)), None, 1_000, Bind.WINDOW, 0.0),
        (Bounds(closes_at=NOW + timedelta(seconds=25), max_calls=202), None, 900, Bind.CALLS, 10.0),
        (Bounds(closes_at=NOW + timedelta(seconds=25), max_calls=202), 21, 990, Bind.QUOTA, 1.0),
        (Bounds(max_calls=1), None, 1_000, Bind.CALLS, 0.0),
    ],
)
def test_a_leg_ends_by_the_bound_that_it_meets_first(
    bounds: Bounds, headroom: int | None, left: int, binds: Bind, seconds: float
) -> None:
    """The forecast says how many rows are left, and the leg ends earlier."""
    means = replace(TWENTY, headroom=headroom, bounds=bounds)
    cost = forecast(*NEED, means, LEG, NOW)

    assert (cost.rows_left, cost.binds, cost.seconds) == (left, binds, pytest.approx(seconds))
