"""Only what lasts is told of the service, and it is told as over when it is."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from proofsweep.alerts.messages import Alert
from proofsweep.alerts.rules import ProbeFacts, alerts_of_probes

BEGAN = datetime(2026, 11, 20, tzinfo=UTC)
RESET = datetime(2026, 12, 1, tzinfo=UTC)


def probes(troubles: Sequence[str | None], call: str = "usage", left: int = 900) -> list[ProbeFacts]:
    """Make a probe each five minutes."""
    return [
        ProbeFacts(
            call=call,
            started_at=BEGAN + timedelta(minutes=5 * number),
            trouble=trouble,
            request_id=f"r-{number}",
            rate_limit=1_000,
            rate_remaining=left,
            rate_reset=RESET,
        )
        for number, trouble in enumerate(troubles)
    ]


def found(*facts: ProbeFacts) -> list[Alert]:
    """Return the alerts that hold."""
    return alerts_of_probes(facts, "beta", 10.0)[0]


def kinds(*facts: ProbeFacts) -> list[str]:
    """Return the kinds of the alerts that hold."""
    return [str(alert.kind) for alert in found(*facts)]


WELL: list[str | None] = [None] * 9


@pytest.mark.parametrize(
    ("troubles", "expected"),
    [
        ([], []),
        (WELL, []),
        ([*WELL, "http_500"], []),
        ([*WELL, "http_500", "timeout"], []),
        ([*WELL, "http_500", "timeout", "not_ok"], ["outage"]),
        ([*WELL, "http_500", "timeout", "not_ok", None], []),
        ([None, "http_503"] * 6, ["outage"]),
        ([None, "http_503"] * 5, []),
        (["http_503", None] * 6, []),
        ([*WELL, "throttled", "throttled", "throttled"], ["outage"]),
        ([*WELL, "throttled", "throttled"], []),
        ([*WELL, "key_refused"], []),
        (["key_refused"] * 3, ["key_refused"]),
    ],
)
def test_one_failed_probe_is_no_alarm(troubles: list[str | None], expected: list[str]) -> None:
    """Three in a row are, and half of the last twelve if the newest is one of them."""
    assert kinds(*probes(troubles)) == expected


def test_health_and_usage_are_told_apart() -> None:
    """One may fail while the other works: ok is false with status 200."""
    (alert,), over = alerts_of_probes([*probes(["not_ok"] * 3, "health"), *probes([None] * 3)], "beta", 10.0)

    assert alert.cause == "outage\tbeta\thealth"
    assert "GET /health, 3 failed since 2026-11-20 00:00 UTC" in alert.body
    assert "not_ok, request ID `r-2`" in alert.body
    assert over == ["outage\tbeta\tusage", "key_refused\tbeta"]


def test_a_low_quota_is_told_once_for_each_period() -> None:
    """At less than the settings' share of it."""
    assert kinds(*probes([None], left=100)) == []
    (alert,) = found(*probes([None], left=99))

    assert alert.cause == "quota_low\tbeta\t2026-12-01"
    assert "99 of 1,000 calls left; it resets 2026-12-01 00:00 UTC" in alert.body


def test_a_spent_quota_is_no_outage() -> None:
    """The service answers 429 until the reset, and one message says why."""
    assert kinds(*probes(["throttled"] * 3, left=0)) == ["quota_low"]
