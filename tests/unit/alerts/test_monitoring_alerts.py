"""Only what lasts is told of the service, and it is told as over when it is."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from proofsweep.alerts.monitoring_alerts import MonitorRules, ProbeFacts, alerts_of_probes

BEGAN = datetime(2026, 11, 20, tzinfo=UTC)
RESET = datetime(2026, 12, 1, tzinfo=UTC)
RULES = MonitorRules(environment="beta", low_quota_percent=10.0, slow_factor=3.0)


def probes(
    troubles: Sequence[str | None], call: str = "usage", elapsed_ms: Sequence[float] = (), left: int = 900
) -> list[ProbeFacts]:
    """Make a probe each five minutes."""
    return [
        ProbeFacts(
            call=call,
            started_at=BEGAN + timedelta(minutes=5 * number),
            elapsed_ms=elapsed_ms[number] if elapsed_ms else 5.0,
            trouble=trouble,
            request_id=f"r-{number}",
            rate_limit=1_000,
            rate_remaining=left,
            rate_reset=RESET,
        )
        for number, trouble in enumerate(troubles)
    ]


def kinds(*facts: ProbeFacts) -> list[str]:
    """Return the kinds of the alerts that hold."""
    return [str(alert.kind) for alert in alerts_of_probes(facts, RULES)[0]]


WELL: list[str | None] = [None] * 9


@pytest.mark.parametrize(
    ("troubles", "expected"),
    [
        ([], []),
        (WELL, []),
        ([*WELL, "http_500"], []),
        ([*WELL, "http_500", "timeout"], []),
        ([*WELL, "http_500", "timeout", "not_ok"], ["service"]),
        ([*WELL, "http_500", "timeout", "not_ok", None], []),
        ([None, "http_503"] * 6, ["service"]),
        ([None, "http_503"] * 5, []),
        (["http_503", None] * 6, []),
        ([*WELL, "throttled", "throttled", "throttled"], ["throttled"]),
        ([*WELL, "throttled", "throttled", "http_500"], []),
        ([*WELL, "key_refused"], []),
        (["key_refused"] * 3, ["key_refused"]),
    ],
)
def test_one_failed_probe_is_no_alarm(troubles: list[str | None], expected: list[str]) -> None:
    """Three in a row are, and half of the last twelve if the newest is one of them."""
    assert kinds(*probes(troubles)) == expected


def test_health_and_usage_are_told_apart() -> None:
    """One may fail while the other works: ok is false with status 200."""
    found, over = alerts_of_probes([*probes(["not_ok"] * 3, "health"), *probes([None] * 3)], RULES)

    (alert,) = found
    assert alert.causes == ("service\tbeta\thealth",)
    assert "GET /health, 3 failed since 2026-11-20 00:00 UTC" in alert.body
    assert "not_ok, request ID `r-2`" in alert.body
    assert over == [
        "latency\tbeta\thealth",
        "service\tbeta\tusage",
        "latency\tbeta\tusage",
        "throttled\tbeta",
        "key_refused\tbeta",
    ]


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [(100.0, 299.0, []), (100.0, 301.0, ["latency"]), (5.0, 150.0, []), (5.0, 206.0, ["latency"])],
)
def test_a_slowdown_is_told_if_somebody_would_feel_it(before: float, now: float, expected: list[str]) -> None:
    """By the medians: a single slow answer changes neither."""
    times = [before] * 10 + [9_000.0] + [before] * 3 + [now] * 5 + [1.0]

    assert kinds(*probes([None] * 20, elapsed_ms=times)) == expected


def test_without_enough_probes_nothing_is_slow() -> None:
    """It is not known yet what is usual; a failed probe says nothing of it."""
    assert kinds(*probes([None] * 17, elapsed_ms=[1.0] * 11 + [900.0] * 6)) == []
    assert kinds(*probes([None] * 9 + ["timeout", None] * 4, elapsed_ms=[1.0] * 9 + [900.0] * 8)) == []


def test_a_low_quota_is_told_once_for_each_period() -> None:
    """At less than the settings' share of it."""
    assert kinds(*probes([None], left=100)) == []
    (alert,), _ = alerts_of_probes(probes([None], left=99), RULES)

    assert alert.causes == ("quota_low\tbeta\t2026-12-01",)
    assert "99 of 1,000 calls left; it resets 2026-12-01 00:00 UTC" in alert.body
