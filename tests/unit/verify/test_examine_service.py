"""What can be known of the service before anything is spent."""

from contextlib import nullcontext
from datetime import timedelta

import pytest

from proofsweep.config.sections import RetrySettings
from proofsweep.config.threads import StopSwitch
from proofsweep.domain.errors import RunMustStop
from proofsweep.domain.exchanges import Call
from proofsweep.verify.service import Service, ServiceStatus

from ..scripted_service import NOW, Scripted, ScriptedService

RESET = NOW + timedelta(hours=30)
NO_CONNECTION = Scripted(status=None)


def test_a_healthy_service_tells_its_version_and_the_quota(opened: Service, service: ScriptedService) -> None:
    """One call of each kind; the live headroom is the header's, not the body's."""
    health = {"ok": True, "version": "7", "commit": "c0ffee", "deployedAt": NOW.isoformat()}
    usage = {"plan": {"quotaLimit": 1000}, "days": [{"date": "2026-11-20", "used": 5, "remaining": 5}]}
    service.script[Call.HEALTH] = [Scripted(document=health)]
    service.script[Call.USAGE] = [Scripted(document=usage, remaining=900, reset=RESET)]

    status = opened.status()

    assert status == ServiceStatus(version="7", commit="c0ffee", deployed_at=NOW, headroom=900, quota_reset=RESET)
    assert service.calls == [Call.HEALTH, Call.USAGE]


def test_a_quota_that_is_used_up_is_no_headroom(opened: Service, service: ScriptedService) -> None:
    """The call that would tell of it is refused for it: that tells enough, and when the quota resets."""
    service.usual[Call.USAGE] = Scripted(status=429, remaining=0, retry_after=3_600.0, reset=RESET)

    status = opened.status()

    assert (status.version, status.headroom, status.quota_reset) == ("7", 0, RESET)
    assert service.calls == [Call.HEALTH, Call.USAGE]


@pytest.mark.parametrize("answer", [NO_CONNECTION, Scripted(status=500), Scripted(document={})])
def test_a_quota_that_is_not_told_is_unknown(opened: Service, service: ScriptedService, answer: Scripted) -> None:
    """A run can begin without it: None is no zero."""
    service.usual[Call.USAGE] = answer

    status = opened.status()

    assert (status.version, status.headroom, status.quota_reset) == ("7", None, None)


@pytest.mark.parametrize(
    ("headroom", "reserve", "sentence"),
    [
        (None, 1_000, ""),
        (3, 0, ""),
        (13, 10, ""),
        (0, 0, "The key's quota is used up; it resets 2026-11-21 18:00 UTC."),
        (2, 0, "The key's quota has too few calls left (2, reserved: 0); it resets"),
        (1_012, 1_010, "The key's quota has too few calls left (1,012, reserved: 1,010); it resets"),
    ],
)
def test_a_leg_begins_with_calls_for_one_item_and_the_last_probe(
    opened: Service, service: ScriptedService, headroom: int | None, reserve: int, sentence: str
) -> None:
    """Or with a quota that is not told; else the sentence says why not, and when to come back."""
    service.usual[Call.USAGE] = Scripted(document={}, remaining=headroom, reset=RESET)

    with pytest.raises(RunMustStop) if sentence else nullcontext() as stopped:
        assert opened.usable(reserve).headroom == headroom

    if stopped is not None:
        assert stopped.value.message.startswith(sentence)
        assert (stopped.value.ended_by, stopped.value.quota_reset) == ("quota", RESET)


@pytest.fixture
def uptime(stop: StopSwitch, monkeypatch: pytest.MonkeyPatch) -> list[float]:
    passed = [0.0]  # monotonic seconds: a rest lasts no time, and is added

    def rest(_stop: StopSwitch, seconds: float) -> None:
        passed.append(passed[-1] + seconds)
        stop.check()

    monkeypatch.setattr(StopSwitch, "rest", rest)
    return passed


def test_a_run_asks_a_service_that_stays_down_with_longer_and_longer_waits(
    opened: Service, service: ScriptedService, uptime: list[float]
) -> None:
    """Until its patience is at an end; then it ends as in an outage, and no keyed call was made."""
    opened.retry = RetrySettings(attempts=2, longest_wait_seconds=30.0, breaker_seconds=300.0)
    opened.dispatcher.clock = lambda: uptime[-1]
    service.usual[Call.HEALTH] = Scripted(status=503)

    with pytest.raises(RunMustStop) as stopped:
        opened.awaited()

    assert stopped.value.ended_by == "breaker"
    assert 300.0 <= uptime[-1] <= 301.0
    assert service.calls == [Call.HEALTH] * len(service.calls)
    assert 20 <= len(service.calls) <= 40
