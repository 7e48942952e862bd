"""Rates are those of the last minute, and the time left is told by the last ten."""

from datetime import UTC, datetime, timedelta

import pytest

from proofsweep.store.progress import WaitsFor
from proofsweep.verify.session import ProgressMeter, Speed

NOW = datetime(2026, 11, 20, tzinfo=UTC)


def test_there_is_no_rate_before_a_second_has_passed() -> None:
    """A display shows nothing then, and invents nothing."""
    meter = ProgressMeter()
    assert meter.speed is None

    meter.take(100.0, 0, 0)
    meter.take(100.4, 50, 100)

    assert (meter.speed, meter.seconds_left(50)) == (None, None)


def test_the_rate_is_that_of_the_last_minute() -> None:
    """A slow start does not count for hours."""
    meter = ProgressMeter()

    for second in range(600):
        meter.take(float(second), 0, 0)
    for second in range(600, 661):
        meter.take(float(second), 2 * (second - 600), 5 * (second - 600))

    assert meter.speed == Speed(rows=2.0, calls=5.0)


def test_the_time_left_is_told_by_the_last_ten_minutes() -> None:
    """A pause of a minute does not make it endless."""
    meter = ProgressMeter()
    for second in range(601):
        meter.take(float(second), min(second, 540), 0)

    assert meter.speed == Speed(rows=0.0, calls=0.0)
    assert meter.seconds_left(90) == pytest.approx(100.0)


def test_it_keeps_ten_minutes_and_no_more() -> None:
    """A night has four displays a second."""
    meter = ProgressMeter()

    for quarter in range(40_000):
        meter.take(quarter / 4, quarter, quarter)

    assert len(meter._samples) == 601


def test_a_leg_is_quiet_when_no_row_ends_for_a_while() -> None:
    """Before the first count nothing is known."""
    meter = ProgressMeter()
    assert not meter.is_quiet(1_000.0)

    meter.take(0.0, 0, 0)
    meter.take(5.0, 1, 2)
    meter.take(14.0, 1, 9)

    assert (meter.is_quiet(14.0), meter.is_quiet(15.0)) == (False, True)


def test_it_knows_since_when_a_leg_waits() -> None:
    """Another reason begins anew."""
    meter, later = ProgressMeter(), NOW + timedelta(minutes=5)

    first = [meter.waits_since(WaitsFor.PAUSE, at) for at in (NOW, later)]
    then = [meter.waits_since(each, later) for each in (WaitsFor.OUTAGE, None)]

    assert (first, then) == ([NOW, NOW], [later, None])
