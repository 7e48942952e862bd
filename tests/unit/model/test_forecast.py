"""A forecast says of cost and time only what was measured."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from proofsweep.model.bounds import Bounds
from proofsweep.model.forecast import Bind, Measurement, Need, Quota, calls_of_row, cost_of_row, forecast

NOW = datetime(2026, 11, 20, 21, 0, tzinfo=UTC)
DECEMBER = datetime(2026, 12, 1, tzinfo=UTC)
NEED = Need(eligible=1_000, audio_bytes=10_000_000)
LEG = Measurement(rows=100, seconds=50.0, calls=202, sent_bytes=2_000_000, quota_spent=201)


def test_without_history_nothing_is_said_of_time() -> None:
    """Calls and quota are forecast all the same."""
    cost = forecast(NEED, Quota(headroom=2_001, reset=DECEMBER), [], NOW, 300.0)

    assert (cost.calls, cost.calls_expected, cost.rows_short, cost.cost_of_row) == (2_000, 2_002, 0, None)
    assert (cost.seconds, cost.ends_at, cost.binds, cost.measured_rows) == (None, None, None, None)


@pytest.mark.parametrize(
    ("headroom", "reserve", "short"),
    [(2_001, 0, 0), (2_000, 0, 1), (2_500, 500, 1), (2_501, 500, 0), (0, 0, 1_000), (10, 50, 1_000), (None, 0, None)],
)
def test_rows_that_the_quota_does_not_cover_are_counted(headroom: int | None, reserve: int, short: int | None) -> None:
    """Each row takes two calls, and the last probe one; reserved calls do not count."""
    assert forecast(NEED, Quota(headroom=headroom, bounds=Bounds(reserve=reserve)), [], NOW, 300.0).rows_short == short


@pytest.mark.parametrize(("spent", "cost", "short"), [(100, 1.0, 0), (200, 2.0, 1), (400, 4.0, 501)])
def test_what_a_row_costs_is_learned_from_the_headroom(spent: int, cost: float, short: int) -> None:
    """The contract does not state which calls are charged; the calls that are made stay what they are."""
    predicted = forecast(NEED, Quota(headroom=2_000), [replace(LEG, quota_spent=spent)], NOW, 300.0)

    assert (predicted.cost_of_row, predicted.rows_short) == (cost, short)
    assert predicted.calls == 2_000


def test_few_rows_give_no_cost() -> None:
    """Their probes of the quota would weigh too much."""
    assert cost_of_row([replace(LEG, rows=19)]) is None
    assert cost_of_row([replace(LEG, quota_spent=None)]) is None
    assert calls_of_row([replace(LEG, rows=10, calls=100)]) == 2.0
    assert calls_of_row([LEG, replace(LEG, calls=302)]) == 2.5


@pytest.mark.parametrize(
    ("leg", "binds", "seconds"),
    [
        (LEG, Bind.ANSWERS, 500.0),
        (replace(LEG, throttled=1), Bind.LANE, 500.0),
        (replace(LEG, cpu_seconds=40.0, upload_share=0.9), Bind.CPU, 500.0),
        (replace(LEG, cpu_seconds=5.0, upload_share=0.9), Bind.UPLINK, 250.0),
        (replace(LEG, cpu_seconds=5.0, upload_share=0.1), Bind.ANSWERS, 500.0),
    ],
)
def test_the_end_goes_by_what_binds(leg: Measurement, binds: Bind, seconds: float) -> None:
    """The uplink is measured by bytes, everything else by rows; the newest leg counts."""
    cost = forecast(NEED, Quota(), [leg, LEG], NOW, 300.0)

    assert (cost.binds, cost.seconds, cost.ends_at) == (binds, seconds, NOW + timedelta(seconds=seconds))


def test_a_run_that_the_quota_ends_stops_sooner() -> None:
    """The rest must wait for the reset; a reset in the past is left out."""
    cost = forecast(NEED, Quota(headroom=1_006, reset=DECEMBER), [LEG], NOW, 300.0)
    stale = forecast(NEED, Quota(headroom=1_006, reset=NOW), [LEG], NOW, 300.0)

    assert (cost.binds, cost.rows_short, cost.seconds) == (Bind.QUOTA, 500, 250.0)
    assert (cost.quota_reset, stale.quota_reset) == (DECEMBER, None)


@pytest.mark.parametrize(
    ("bounds", "headroom", "left", "binds", "seconds"),
    [
        (Bounds(max_calls=202), None, 900, Bind.CALLS, 50.0),
        (Bounds(max_calls=2_002), None, 0, Bind.ANSWERS, 500.0),
        (Bounds(closes_at=NOW + timedelta(seconds=100)), None, 800, Bind.WINDOW, 100.0),
        (Bounds(closes_at=NOW + timedelta(seconds=500)), None, 0, Bind.ANSWERS, 500.0),
        (Bounds(closes_at=NOW - timedelta(seconds=1)), None, 1_000, Bind.WINDOW, 0.0),
        (Bounds(closes_at=NOW + timedelta(seconds=100), max_calls=202), None, 900, Bind.CALLS, 50.0),
        (Bounds(closes_at=NOW + timedelta(seconds=100), max_calls=202), 21, 990, Bind.QUOTA, 5.0),
        (Bounds(max_calls=1), None, 1_000, Bind.CALLS, 0.0),
    ],
)
def test_a_leg_ends_by_the_bound_that_it_meets_first(
    bounds: Bounds, headroom: int | None, left: int, binds: Bind, seconds: float
) -> None:
    """The forecast says how many rows are left, and the leg ends earlier."""
    quota = Quota(headroom=headroom, bounds=bounds)
    cost = forecast(NEED, quota, [replace(LEG, quota_spent=200)], NOW, 300.0)

    assert (cost.rows_left, cost.binds, cost.seconds) == (left, binds, pytest.approx(seconds))


def test_calls_bound_a_leg_whose_pace_is_not_known() -> None:
    """A window does not, because without a pace nobody knows how many rows fit."""
    bounds = Bounds(max_calls=202, closes_at=NOW + timedelta(seconds=1))
    cost = forecast(NEED, Quota(bounds=bounds), [], NOW, 300.0)

    assert (cost.rows_left, cost.binds, cost.seconds) == (900, Bind.CALLS, None)


def test_retries_and_probes_are_expected_as_before() -> None:
    """Two and a half calls a row, a probe at each end and one every five minutes."""
    cost = forecast(NEED, Quota(), [replace(LEG, calls=252)], NOW, 300.0)

    assert (cost.calls, cost.calls_expected) == (2_000, 2_500 + 2 + 1)


def test_a_leg_of_a_few_rows_gives_no_pace_if_another_leg_does() -> None:
    """Its start would weigh more than its work."""
    few = replace(LEG, rows=1, seconds=9.0)

    assert forecast(NEED, Quota(), [few, LEG], NOW, 300.0).seconds == 500.0
    assert forecast(NEED, Quota(), [few], NOW, 300.0).measured_rows == 1


def test_an_empty_need_costs_nothing() -> None:
    """A catalog may have no eligible row."""
    cost = forecast(Need(eligible=0, audio_bytes=0), Quota(headroom=0), [LEG], NOW, 300.0)

    assert (cost.calls, cost.rows_short, cost.seconds) == (0, 0, 0.0)
