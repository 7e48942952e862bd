"""A round of monitoring is recorded, and what lasts is decided from the recorded ones."""

import json

import pytest

from proofsweep.alerts import monitor
from proofsweep.alerts.monitor import probe_service
from proofsweep.app import App
from proofsweep.client.client import Partner
from proofsweep.config.load import Settings
from proofsweep.domain.errors import ResultsError
from proofsweep.domain.exchanges import Call
from proofsweep.store.probes import read_probes

from ..scripted_service import HEALTHY, NOW, USAGE, Scripted, ScriptedService


def test_a_lasting_failure_is_told_after_the_third_round(
    settings: Settings, service: ScriptedService, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each pass is an object and no operation; a probe is never held back by what failed before."""
    service.usual[Call.HEALTH] = Scripted(status=500)
    monkeypatch.setattr("proofsweep.app.utc_now", lambda: NOW)

    rounds = [App(settings).monitored() for _ in range(3)]

    results = App(settings).results
    assert [[alert.kind for alert in each.alerts] for each in rounds] == [[], [], ["outage"]]
    assert len(list(results.all_parts("probes"))) == 3
    assert (results.store.folders("_operations"), read_probes(results).num_rows) == ([], 6)


def test_an_hour_that_cannot_be_published_ends_no_pass(
    settings: Settings, service: ScriptedService, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next pass does it."""
    service.usual[Call.HEALTH] = Scripted(status=500)

    def failing(*_: object) -> None:
        raise ResultsError("The store is away.")

    monkeypatch.setattr(monitor, "publish_hours", failing)

    assert len(App(settings).monitored().batch.probes) == 2


DAY = {"plan": {"quotaLimit": 1000, "quotaPeriod": "month"}, "days": [{"date": "2026-11-20", "used": 7}]}


def test_a_pass_keeps_both_answers(partner: Partner, service: ScriptedService) -> None:
    """Health, which is public, and the usage of a day; the headroom is the header's."""
    service.script[Call.USAGE] = [Scripted(document=DAY, remaining=900)]

    found = probe_service(partner)
    health, usage = found.rows({"operation_id": "p"})

    assert (health["call"], health["ok"], health["service_version"], health["trouble"]) == ("health", True, "7", None)
    assert (usage["call"], usage["rate_remaining"], usage["request_id"]) == ("usage", 900, "id-2")
    assert (health["operation_id"], health["usage_json"]) == ("p", None)
    assert json.loads(str(usage["usage_json"])) == [
        {"day": "2026-11-20", "used": 7, "remaining": None, "quota_limit": 1000.0, "quota_period": "month"}
    ]


@pytest.mark.parametrize(
    ("health", "usage", "troubles"),
    [
        (HEALTHY, USAGE, [None, None]),
        (Scripted(document={"ok": False}), USAGE, ["not_ok", None]),
        (Scripted(status=503), Scripted(status=500), ["http_503", "http_500"]),
        (Scripted(status=None), Scripted(status=None), ["connection", "connection"]),
        (HEALTHY, Scripted(status=429, retry_after=0.0), [None, "throttled"]),
        (HEALTHY, Scripted(status=429, remaining=0, retry_after=900_000.0), [None, "throttled"]),
        (HEALTHY, Scripted(status=403), [None, "key_refused"]),
        (Scripted(document=["no object"]), Scripted(document="text"), ["bad_answer", "bad_answer"]),
    ],
)
def test_whatever_comes_back_is_a_row(
    partner: Partner,
    service: ScriptedService,
    health: Scripted,
    usage: Scripted,
    troubles: list[str],
) -> None:
    """Each is asked once: what fails is what a monitor is there for."""
    service.usual |= {Call.HEALTH: health, Call.USAGE: usage}

    found = probe_service(partner)

    assert [probe["trouble"] for probe in found.probes] == troubles
    assert service.calls == [Call.HEALTH, Call.USAGE]
