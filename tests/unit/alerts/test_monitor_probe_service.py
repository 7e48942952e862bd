"""A round asks twice, repeats nothing, and keeps a row of whatever came back."""

import json

import pytest

from proofsweep.alerts.monitor import probe_service
from proofsweep.model.exchanges import Call
from proofsweep.partner.partner import Partner

from ..scripted_service import HEALTHY, USAGE, Scripted, ScriptedService

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
