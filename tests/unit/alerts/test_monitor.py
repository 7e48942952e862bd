"""A round of monitoring is recorded, and what lasts is decided from the recorded ones."""

import pytest

from proofsweep.alerts import monitor
from proofsweep.errors import ResultsError
from proofsweep.model.exchanges import Call
from proofsweep.settings import Settings
from proofsweep.store.probes import read_probes
from proofsweep.wiring import watching
from proofsweep.wiring.stores import results_for
from proofsweep.wiring.watching import monitor_service

from ..scripted_service import NOW, Scripted, ScriptedService


def test_a_lasting_failure_is_told_after_the_third_round(
    settings: Settings, service: ScriptedService, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each pass is an object and no operation; a probe is never held back by what failed before."""
    service.usual[Call.HEALTH] = Scripted(status=500)
    monkeypatch.setattr(watching, "utc_now", lambda: NOW)

    rounds = [monitor_service(settings) for _ in range(3)]

    results = results_for(settings)
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

    assert len(monitor_service(settings).batch.probes) == 2
