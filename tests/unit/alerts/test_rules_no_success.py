"""Nights without a successful run are told."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from proofsweep.alerts.messages import About
from proofsweep.alerts.rules import WorkFacts, did_its_work, no_success

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
MUSIC, ANY = WorkFacts("beta", About(catalog="music")), WorkFacts("beta", About())


def hours_ago(hours: float) -> datetime:
    """Return an instant before now."""
    return NOW - timedelta(hours=hours)


@pytest.mark.parametrize(
    ("ended_by", "finished_rows", "expected"),
    [
        ("complete", 0, True),
        ("quota", 5, True),
        ("window", 5, True),
        ("quota", 0, False),
        ("window", 0, False),
        ("breaker", 500, False),
        ("key_refused", 500, False),
        ("cancelled", 500, False),
        ("killed", 500, False),
        ("error", 500, False),
        (None, 0, False),
    ],
)
def test_a_leg_did_its_work_if_only_its_own_limits_ended_it(
    ended_by: str | None, finished_rows: int, *, expected: bool
) -> None:
    """Nobody is woken for a night that used all the calls that it had."""
    assert did_its_work(ended_by, finished_rows, have_all_failed=False) == expected
    assert not did_its_work(ended_by, finished_rows, have_all_failed=True)


@pytest.mark.parametrize(("hours", "was_sent"), [(35.9, False), (36, True), (1_000, True)])
def test_36_hours_without_a_success_are_told(hours: float, *, was_sent: bool) -> None:
    """One missed night is not; a second one is."""
    facts = replace(MUSIC, last_success=hours_ago(hours))

    assert (no_success(facts, NOW, 36.0) is not None) == was_sent


def test_a_catalog_that_was_never_verified_is_told() -> None:
    """It was named, so somebody waits for it."""
    alert = no_success(MUSIC, NOW, 36.0)

    assert alert is not None
    assert "catalog `music` that did its work ended: never." in alert.body


def test_a_store_without_any_run_is_not_told() -> None:
    """A new installation has time until its first night, and nothing was named."""
    assert no_success(ANY, NOW, 36.0) is None


def test_a_first_run_has_the_same_time() -> None:
    """What was planned an hour ago may still succeed; after two days it has not."""
    young, old = (replace(ANY, first_run=hours_ago(hours)) for hours in (1, 48))

    assert no_success(young, NOW, 36.0) is None
    assert no_success(old, NOW, 36.0) is not None


def test_a_success_makes_the_next_failure_a_new_cause() -> None:
    """Two bad weeks with a good night between them are told twice."""
    alerts = [no_success(replace(MUSIC, last_success=hours_ago(hours)), NOW, 36) for hours in (40, 90)]

    assert len({alert.cause for alert in alerts if alert is not None}) == 2
