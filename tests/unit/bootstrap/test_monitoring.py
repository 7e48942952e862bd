"""A round of monitoring is recorded, and what lasts is decided from the recorded ones."""

import pytest

from proofsweep.bootstrap import monitoring
from proofsweep.bootstrap import operations as wired
from proofsweep.bootstrap.monitoring import monitor_service
from proofsweep.bootstrap.stores import results_for
from proofsweep.domain.exchanges import Call
from proofsweep.settings import Settings
from proofsweep.storage.results.operations import Operations

from ..usecases.scripted_service import NOW, Scripted, ScriptedService


def test_a_lasting_failure_is_told_after_the_third_round(
    settings: Settings, service: ScriptedService, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each round has a receipt; a probe is never held back by what failed before."""
    service.usual[Call.HEALTH] = Scripted(status=500)
    for module in (monitoring, wired):
        monkeypatch.setattr(module, "utc_now", lambda: NOW)

    rounds = [monitor_service(settings) for _ in range(3)]

    operations = Operations(results_for(settings))
    receipts = [operations.receipt(each) or {} for each in operations.ids()]
    assert [[alert.kind for alert in each.alerts] for each in rounds] == [[], [], ["service"]]
    assert [(each["kind"], each["ended_by"], each["calls"]) for each in receipts] == [("monitoring", "complete", 1)] * 3
