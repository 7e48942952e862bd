"""What is told of the key: its grace."""

from datetime import UTC, datetime, timedelta

import pytest

from proofsweep.alerts.rules import key_expires, rotated_key_ends
from proofsweep.model.key_rotation import Rotation

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


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
    assert soon.cause != over.cause
    assert "ends at 2026-11-20 12:00 UTC" in soon.subject
    assert "ended at" in over.subject


def test_without_an_expiry_nothing_is_told() -> None:
    """The contract does not let a client ask for it."""
    assert key_expires("beta", None, NOW) is None


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
    assert soon.cause != over.cause
