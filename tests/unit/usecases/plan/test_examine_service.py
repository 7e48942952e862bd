"""What can be known of the service before anything is spent."""

from datetime import timedelta

import pytest

from proofsweep.client.partner import Partner
from proofsweep.domain.exchanges import Call
from proofsweep.errors import ConfigError, RunMustStop
from proofsweep.usecases.plan.examine_service import ServiceStatus, examine_service, refuse_without_quota

from ..scripted_service import NOW, Scripted, ScriptedService

RESET = NOW + timedelta(hours=30)
NO_CONNECTION = Scripted(status=None)


def test_a_healthy_service_tells_its_version_and_the_quota(partner: Partner, service: ScriptedService) -> None:
    """One call of each kind; the live headroom is the header's, not the body's."""
    health = {"ok": True, "version": "7", "commit": "c0ffee", "deployedAt": NOW.isoformat()}
    usage = {"plan": {"quotaLimit": 1000}, "days": [{"date": "2026-11-20", "used": 5, "remaining": 5}]}
    service.script[Call.HEALTH] = [Scripted(document=health)]
    service.script[Call.USAGE] = [Scripted(document=usage, remaining=900, reset=RESET)]

    status = examine_service(partner)

    assert status == ServiceStatus(version="7", commit="c0ffee", deployed_at=NOW, headroom=900, quota_reset=RESET)
    assert service.calls == [Call.HEALTH, Call.USAGE]


@pytest.mark.parametrize("answer", [NO_CONNECTION, Scripted(status=503), Scripted(status=429)])
def test_a_service_that_is_down_is_left_alone(partner: Partner, service: ScriptedService, answer: Scripted) -> None:
    """It is tried twice; then another day is better than a person's change of the settings."""
    service.usual[Call.HEALTH] = answer

    with pytest.raises(RunMustStop, match=r"The service at https://partner\.example/v1 does not answer") as stopped:
        examine_service(partner)

    assert stopped.value.ended_by == "breaker"
    assert service.calls == [Call.HEALTH] * 2


def test_a_service_that_says_that_it_is_not_well_is_left_alone(partner: Partner, service: ScriptedService) -> None:
    """Its health is answered with 200 and `ok` false: as if it did not answer, and no keyed call is made."""
    service.usual[Call.HEALTH] = Scripted(document={"ok": False, "version": "7"})

    with pytest.raises(
        RunMustStop, match=r"The service at https://partner\.example/v1 says that it is not well"
    ) as stopped:
        examine_service(partner)

    assert stopped.value.ended_by == "breaker"
    assert service.calls == [Call.HEALTH]


@pytest.mark.parametrize("document", [{}, {"ok": None}, {"ok": "perhaps"}])
def test_a_health_that_is_not_told_is_no_trouble(partner: Partner, service: ScriptedService, document: object) -> None:
    """Only `false` says that something is wrong."""
    service.usual[Call.HEALTH] = Scripted(document=document)

    assert examine_service(partner).headroom == 900


@pytest.mark.parametrize("call", [Call.HEALTH, Call.USAGE])
def test_an_address_where_something_else_answers_is_for_the_person(
    partner: Partner, service: ScriptedService, call: Call
) -> None:
    """A 404 says that there is no such API; the message names the setting."""
    service.usual[call] = Scripted(status=404)

    with pytest.raises(ConfigError, match=r"is not the partner's API .*Status 404.*; check service\.base_url"):
        examine_service(partner)


def test_a_refused_key_ends_the_leg(partner: Partner, service: ScriptedService) -> None:
    """It is not tried again: the same key would be refused the same."""
    service.usual[Call.USAGE] = Scripted(status=403)

    with pytest.raises(RunMustStop) as stopped:
        examine_service(partner)

    assert stopped.value.ended_by == "key_refused"
    assert service.calls == [Call.HEALTH, Call.USAGE]


def test_a_quota_that_is_used_up_is_no_headroom(partner: Partner, service: ScriptedService) -> None:
    """The call that would tell of it is refused for it: that tells enough, and when the quota resets."""
    service.usual[Call.USAGE] = Scripted(status=429, remaining=0, retry_after=3_600.0, reset=RESET)

    status = examine_service(partner)

    assert (status.version, status.headroom, status.quota_reset) == ("7", 0, RESET)
    assert service.calls == [Call.HEALTH, Call.USAGE]


@pytest.mark.parametrize("answer", [NO_CONNECTION, Scripted(status=500), Scripted(document={})])
def test_a_quota_that_is_not_told_is_unknown(partner: Partner, service: ScriptedService, answer: Scripted) -> None:
    """A run can begin without it: None is no zero."""
    service.usual[Call.USAGE] = answer

    status = examine_service(partner)

    assert (status.version, status.headroom, status.quota_reset) == ("7", None, None)


@pytest.mark.parametrize(("headroom", "reserve"), [(None, 0), (None, 1_000), (3, 0), (13, 10)])
def test_calls_for_one_item_and_the_last_probe_are_enough(headroom: int | None, reserve: int) -> None:
    """Or a quota that is not told."""
    refuse_without_quota(ServiceStatus(headroom=headroom), reserve, NOW)


@pytest.mark.parametrize(
    ("headroom", "reserve", "sentence"),
    [
        (0, 0, "The key's quota is used up; it resets 2026-11-21 18:00 UTC."),
        (1, 0, "The key's quota has too few calls left (1, reserved: 0); it resets"),
        (2, 0, "The key's quota has too few calls left (2, reserved: 0); it resets"),
        (1_012, 1_010, "The key's quota has too few calls left (1,012, reserved: 1,010); it resets"),
    ],
)
def test_fewer_begin_no_leg(headroom: int, reserve: int, sentence: str) -> None:
    """The sentence says why, and when to come back."""
    with pytest.raises(RunMustStop) as stopped:
        refuse_without_quota(ServiceStatus(headroom=headroom, quota_reset=RESET), reserve, NOW)

    assert stopped.value.message.startswith(sentence)
    assert (stopped.value.ended_by, stopped.value.quota_reset) == ("quota", RESET)
