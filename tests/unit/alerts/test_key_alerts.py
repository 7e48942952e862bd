"""What is told of the key: its grace, its quota, and calls that nobody here made."""

from datetime import UTC, date, datetime, timedelta

import pytest

from proofsweep.alerts.key_alerts import (
    key_expires,
    quota_short,
    rotated_key_ends,
    unexplained_usage,
)
from proofsweep.model.bounds import Bounds
from proofsweep.model.forecast import Need, Quota, forecast
from proofsweep.model.key_rotation import Rotation

from ..ended_runs import plan_of_run

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
RESET = NOW + timedelta(hours=1)
DAY = date(2026, 11, 19)


@pytest.mark.parametrize(
    ("hours_left", "was_sent"), [(72, False), (24.01, False), (24, True), (1, True), (0, True), (-100, True)]
)
def test_a_key_is_told_of_in_the_last_24_hours_of_its_grace(hours_left: float, *, was_sent: bool) -> None:
    """A rotated key works for 72 hours; then it is refused."""
    alert = key_expires("beta", NOW + timedelta(hours=hours_left), NOW)

    assert (alert is not None) == was_sent


def test_a_key_that_has_ended_is_news_after_one_that_ends() -> None:
    """Two messages: one to act in time, and one that it was not done."""
    soon, over = (key_expires("beta", NOW, NOW + timedelta(hours=hours)) for hours in (-1, 1))

    assert soon is not None
    assert over is not None
    assert soon.causes != over.causes
    assert "ends at 2026-11-20 12:00 UTC" in soon.subject
    assert "ended at" in over.subject


def test_without_an_expiry_nothing_is_told() -> None:
    """The contract does not let a client ask for it."""
    assert key_expires("beta", None, NOW) is None


def test_a_quota_that_ends_before_the_catalog_is_told_with_its_reset() -> None:
    """The catalog is the cause, so that each night of it does not tell it again."""
    plan = plan_of_run("20261120T010000Z_000aa", catalog="music")
    short, enough = (
        forecast(Need(eligible=rows, audio_bytes=0), Quota(headroom=61, reset=RESET, bounds=Bounds()), [], NOW, 60)
        for rows in (100, 30)
    )

    alert = quota_short(plan, 100, short)

    assert alert is not None
    assert "100 rows are to be sent, and the quota is 70 rows short" in alert.body
    assert "it resets 2026-11-20 13:00 UTC" in alert.body
    assert alert.causes == ("quota_short\tbeta\tmusic",)
    assert quota_short(plan, 30, enough) is None


@pytest.mark.parametrize(
    ("used", "ours", "was_sent"), [(1_000, 1_000, False), (1_500, 1_000, False), (1_501, 1_000, True)]
)
def test_calls_that_nobody_here_made_are_told_above_a_tolerance(used: int, ours: int, *, was_sent: bool) -> None:
    """Some calls are in no table: those of `check`, of `doctor`, and the last second of a killed leg."""
    alert = unexplained_usage("beta", DAY, used, ours, 500)

    assert (alert is not None) == was_sent


def test_fewer_calls_than_ours_are_no_alert() -> None:
    """The service may not charge each of them."""
    assert unexplained_usage("beta", DAY, 10, 5_000, 0) is None


def test_unexplained_calls_are_told_with_both_counts() -> None:
    """A stolen key is one of the possible reasons."""
    alert = unexplained_usage("beta", DAY, 2_000, 500, 100)

    assert alert is not None
    assert alert.subject == "proofsweep: 1,500 calls of 2026-11-19 are unexplained (beta)"
    assert "the service counted 2,000 calls; the tables hold 500" in alert.body


def _rotation(expires_at: datetime | None) -> Rotation:
    return Rotation(
        operation_id="20261117T120000Z_000aa",
        environment="beta",
        key_fingerprint="a" * 12,
        new_key_fingerprint="b" * 12,
        requested_at=NOW - timedelta(hours=60),
        answered_at=NOW - timedelta(hours=60),
        previous_key_expires_at=expires_at,
    )


@pytest.mark.parametrize(
    ("hours_left", "key_in_use", "expected"),
    [
        (25, "a" * 12, None),
        (23, "a" * 12, "still name the old key"),
        (23, "b" * 12, "new one is in use here"),
        (23, None, "new one is in use here"),
        (0, "a" * 12, "ended at 2026-11-20 12:00 UTC"),
        (-99, "a" * 12, "still name the old key"),
        (-1, "b" * 12, None),
        (-1, None, None),
    ],
)
def test_the_end_of_a_rotated_key_is_told_before_it_and_after_it_only_to_who_uses_it(
    hours_left: int, key_in_use: str | None, expected: str | None
) -> None:
    """Others have nothing to do about a key that has ended."""
    alert = rotated_key_ends(_rotation(NOW + timedelta(hours=hours_left)), key_in_use, NOW)

    assert (alert is None) == (expected is None)
    assert alert is None or expected in alert.body  # type: ignore[operator]  # an alert has an expectation


def test_an_end_that_the_service_did_not_say_is_that_of_the_contract() -> None:
    """72 hours after the rotation; soon and over are two causes."""
    soon = rotated_key_ends(_rotation(None), "a" * 12, NOW)
    over = rotated_key_ends(_rotation(None), "a" * 12, NOW + timedelta(hours=12))

    assert soon is not None
    assert over is not None
    assert "ends at 2026-11-21 00:00 UTC (beta)" in soon.subject
    assert soon.causes != over.causes
