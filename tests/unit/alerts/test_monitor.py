"""A check finds what no run can tell, because it never came to its end; rounds of monitoring are kept and decided."""

import json
from dataclasses import replace
from datetime import timedelta

import pytest

from proofsweep.alerts.facts import AlertFacts
from proofsweep.alerts.monitor import Check, ProbeBatch, probe_service
from proofsweep.alerts.rules import AlertKind, cause_of
from proofsweep.alerts.send import Memory, name_of
from proofsweep.client.client import Partner
from proofsweep.domain.errors import ConfigError
from proofsweep.domain.exchanges import Call, Failure
from proofsweep.verify.attempt import supersede

from ...worlds.core import StoredRun
from ...worlds.ended_runs import answered, end_leg, plan_of_run
from ..left_behind import change_holder, let_holder_die
from ..scripted_service import HEALTHY, USAGE, Scripted, ScriptedService
from .conftest import NOW, OLD, leave_rotation, rotation

EARLY, LATE = "20261120T080000Z_aaaaaa", "20261120T090000Z_bbbbbb"
MUSIC = "/label/music"


def check_of(facts: AlertFacts, partner: Partner, *catalogs: str, hours: float = 0) -> Check:
    return Check(
        facts=replace(facts, clock=lambda: NOW + timedelta(hours=hours)),
        catalogs=catalogs,
        folder="/label",
        key_in_use=lambda: OLD,
        ask_usage=lambda: partner.usage(days=1),
    )


def found(facts: AlertFacts, partner: Partner, *catalogs: str, hours: float = 0) -> list[str]:
    return [str(alert.kind) for alert in check_of(facts, partner, *catalogs, hours=hours).gather()[0]]


def test_36_hours_after_the_last_good_run_it_is_found(facts: AlertFacts, partner: Partner) -> None:
    """The folder's name may be written with a slash, or relative to the folder of the check."""
    plan = plan_of_run(LATE, catalog=MUSIC)
    end_leg(facts.results, plan, [answered(plan, 0, "a")], finished_at=NOW.isoformat())

    assert found(facts, partner, hours=35) == []
    for named in ([], [f"{MUSIC}/"], ["music"]):
        assert found(facts, partner, *named, hours=37) == ["no_success"]


def test_a_run_whose_process_was_killed_is_found_unless_another_took_its_rows(
    facts: AlertFacts, partner: Partner
) -> None:
    """Nobody else would tell. While its leg is alive it is left alone; of a superseded run the newest other counts."""
    plan = plan_of_run(EARLY, catalog=MUSIC)
    facts.results.write_plan(plan)
    StoredRun(facts.results, plan).take(1)
    alive = found(facts, partner)

    let_holder_die(facts.results, plan, 1)
    killed = found(facts, partner)
    supersede(facts.results, plan, lambda: NOW)

    assert (alive, killed, found(facts, partner)) == ([], ["crashed"], [])
    newer = plan_of_run(LATE, catalog=MUSIC)
    end_leg(facts.results, newer, [answered(newer, 0, "a")], finished_at=NOW.isoformat())
    assert found(facts, partner, MUSIC) == []


def test_a_killed_run_is_found_beside_newer_runs_of_other_catalogs(facts: AlertFacts, partner: Partner) -> None:
    """As long as the schedule would resume it; one that was given up for months is told no more."""
    killed, newer = plan_of_run(EARLY, catalog=MUSIC), plan_of_run(LATE, catalog="/label/drops")
    facts.results.write_plan(killed)
    StoredRun(facts.results, killed).take(1)
    let_holder_die(facts.results, killed, 1)
    end_leg(facts.results, newer, [answered(newer, 0, "a")], finished_at=NOW.isoformat())

    assert found(facts, partner) == ["crashed"]
    assert found(facts, partner, hours=24 * 60) == ["no_success"]


@pytest.mark.parametrize(
    ("holder", "kinds"),
    [
        ({}, []),
        ({"process_started": "earlier"}, ["crashed"]),
        ({"machine": "another", "taken_at": (NOW - timedelta(minutes=50)).isoformat()}, []),
        ({"machine": "another", "taken_at": (NOW - timedelta(minutes=70)).isoformat()}, ["crashed"]),
    ],
)
def test_a_run_whose_process_was_killed_before_its_first_leg_is_found(
    facts: AlertFacts, partner: Partner, holder: dict[str, str], kinds: list[str]
) -> None:
    """A process that exists may still begin it; of one on another machine nobody knows that, so it has an hour."""
    facts.results.write_plan(plan_of_run(LATE, catalog=MUSIC))
    change_holder(facts.results, 1, **holder)

    assert found(facts, partner) == kinds


@pytest.mark.parametrize(
    ("told", "named", "is_found"),
    [
        ((MUSIC, 1), [], True),
        ((MUSIC, 8), [], False),
        ((MUSIC, 1), ["music"], True),
        (("/label/drops", 1), ["music"], False),
        (("health", 1), ["music"], True),
    ],
)
def test_an_outage_that_was_told_and_is_not_over_is_found(
    facts: AlertFacts, partner: Partner, told: tuple[str, int], named: list[str], is_found: bool
) -> None:
    """It is the same cause, so it is not told again; without a run nothing else says that it holds."""
    subject, days = told
    cause = cause_of(AlertKind.OUTAGE, "beta", subject)
    memory = Memory(cause=cause, at=NOW - timedelta(days=days), taken=frozenset({"somebody"}))
    facts.results.store.create(name_of(cause), memory.content())

    alerts, _ = check_of(facts, partner, *named).gather()

    assert [alert.cause for alert in alerts if alert.kind is AlertKind.OUTAGE] == [cause] * is_found


@pytest.mark.parametrize("status", [500, 404, None])
def test_a_service_that_is_down_is_said_and_no_alert(
    facts: AlertFacts, partner: Partner, service: ScriptedService, status: int | None
) -> None:
    """An hour's outage without a run harms nobody; the rest of the check goes on."""
    service.usual[Call.USAGE] = Scripted(status=status)
    check = check_of(facts, partner)

    assert check.gather() == ([], [])
    assert check.skipped[0].startswith("The quota was not checked: ")


def test_a_refused_key_is_an_alert_that_names_no_flow(
    facts: AlertFacts, partner: Partner, service: ScriptedService
) -> None:
    """None ran; the cause is that of every other refusal of the key."""
    service.usual[Call.USAGE] = Scripted(status=403, error_code="forbidden")

    (alert,), _ = check_of(facts, partner).gather()

    assert (alert.cause, "Flow" in alert.body) == ("key_refused\tbeta", False)
    assert "\nA check of the quota said: `The service refused the key (403)" in alert.body


def test_a_key_that_cannot_be_read_keeps_nothing_else_from_being_found(facts: AlertFacts, partner: Partner) -> None:
    """That file may be why no run has succeeded."""

    def no_key() -> str:
        raise ConfigError("The key cannot be read.")

    check = check_of(facts, partner, "music")
    check.key_in_use = check.ask_usage = no_key  # type: ignore[assignment]  # neither comes to its answer

    alerts, _ = check.gather()

    assert [alert.kind for alert in alerts] == ["no_success"]
    assert "key cannot be read" in check.skipped[0]


DAY = {"plan": {"quotaLimit": 1000, "quotaPeriod": "month"}, "days": [{"date": "2026-11-20", "used": 7}]}


def test_a_pass_keeps_both_answers(partner: Partner, service: ScriptedService) -> None:
    """Health, which is public, and the usage of a day; the headroom is the header's."""
    service.script[Call.USAGE] = [Scripted(document=DAY, remaining=900)]

    health, usage = probe_service(partner).rows({"operation_id": "p"})

    assert (health["call"], health["ok"], health["service_version"], health["trouble"]) == ("health", True, "7", None)
    assert (usage["call"], usage["rate_remaining"], usage["request_id"]) == ("usage", 900, "id-2")
    assert (health["operation_id"], health["usage_json"]) == ("p", None)
    assert json.loads(str(usage["usage_json"])) == [
        {"day": "2026-11-20", "used": 7, "remaining": None, "quota_limit": 1000.0, "quota_period": "month"}
    ]


@pytest.mark.parametrize(("hours", "until"), [(1, " until 2026-11-20 13:00 UTC"), (-1, "")])
def test_a_reset_that_is_past_says_nothing(hours: int, until: str) -> None:
    probe = {"call": "usage", "trouble": None, "elapsed_ms": 8.0, "rate_remaining": 9, "rate_limit": None}
    batch = ProbeBatch(probes=[probe | {"started_at": NOW, "rate_reset": NOW + timedelta(hours=hours)}], usage=[])

    assert batch.line() == f"usage well, 8 ms, 9 calls left{until}"


@pytest.mark.parametrize(
    ("health", "usage", "troubles"),
    [
        (HEALTHY, USAGE, [None, None]),
        (Scripted(document={}), USAGE, [None, None]),
        (Scripted(document={"ok": False}), USAGE, ["not_ok", None]),
        (Scripted(status=403), Scripted(status=502, failure=Failure.BAD_ANSWER), ["http_403", "http_502"]),
        (Scripted(status=503), Scripted(status=500), ["http_503", "http_500"]),
        (Scripted(status=None), Scripted(status=None), ["connection", "connection"]),
        (HEALTHY, Scripted(status=429, retry_after=0.0), [None, "throttled"]),
        (HEALTHY, Scripted(status=429, remaining=0, retry_after=900_000.0), [None, "throttled"]),
        (HEALTHY, Scripted(status=403, error_code="forbidden"), [None, "key_refused"]),
        (HEALTHY, Scripted(status=403), [None, "http_403"]),
        (Scripted(document=["no object"]), Scripted(document="text"), ["bad_answer", "bad_answer"]),
    ],
)
def test_whatever_comes_back_is_a_row(
    partner: Partner, service: ScriptedService, health: Scripted, usage: Scripted, troubles: list[str]
) -> None:
    """Each is asked once: what fails is what a monitor is there for. `ok` is trouble only if it is false."""
    service.usual |= {Call.HEALTH: health, Call.USAGE: usage}

    batch = probe_service(partner)

    assert [probe["trouble"] for probe in batch.probes] == troubles
    assert service.calls == [Call.HEALTH, Call.USAGE]


def test_the_end_of_a_recorded_rotation_is_found(facts: AlertFacts, partner: Partner) -> None:
    """A day before it, although no setting says it; rotations of another environment are not told."""
    leave_rotation(facts.results, rotation(0))
    elsewhere = replace(facts, service=facts.service.model_copy(update={"environment": "production"}))

    assert found(facts, partner) == []
    assert found(facts, partner, hours=50) == ["key_expires"]
    assert found(elsewhere, partner, hours=50) == []
