"""A round asks twice, repeats nothing, and keeps a row of whatever came back."""

from pathlib import Path

import pytest

from proofsweep.client.partner import Partner
from proofsweep.domain.exchanges import Call
from proofsweep.storage.results.folder_store import FolderStore
from proofsweep.storage.results.operations import Operations
from proofsweep.storage.results.plans_and_parts import Results
from proofsweep.usecases.monitoring.probe_service import probe_service
from proofsweep.usecases.operations.operation_log import OperationLog

from ...ended_operations import operation_named
from ..scripted_service import HEALTHY, NOW, USAGE, Scripted, ScriptedService

OPERATION = operation_named("20261120T120000Z_000aa", "monitoring")
DAY = {"plan": {"quotaLimit": 1000, "quotaPeriod": "month"}, "days": [{"date": "2026-11-20", "used": 7}]}


@pytest.fixture
def results(tmp_path: Path) -> Results:
    """An empty store."""
    return Results(FolderStore(tmp_path))


@pytest.fixture
def log(results: Results) -> OperationLog:
    """The log of a round."""
    return OperationLog(OPERATION, Operations(results), lambda: NOW, keeps_exchanges=False)


def test_a_round_keeps_both_answers(
    partner: Partner, service: ScriptedService, log: OperationLog, results: Results
) -> None:
    """Health, which is public, and the usage of a day; the headroom is the header's."""
    service.script[Call.USAGE] = [Scripted(document=DAY, remaining=900)]

    probe_service(partner, log)
    log.flush()

    health, usage = results.table("probes", results.all_parts("probes")).to_pylist()
    (day,) = results.table("usage", results.all_parts("usage")).to_pylist()
    assert (health["call"], health["ok"], health["service_version"], health["trouble"]) == ("health", True, "7", None)
    assert (usage["call"], usage["rate_remaining"], usage["request_id"]) == ("usage", 900, "id-2")
    assert (day["day"], day["used"], day["quota_limit"], day["quota_period"]) == ("2026-11-20", 7, 1000.0, "month")
    assert log.counts.calls == 1
    assert not list(results.all_parts("exchanges"))


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
def test_whatever_comes_back_is_a_row(  # noqa: PLR0917 - a table
    partner: Partner,
    service: ScriptedService,
    log: OperationLog,
    health: Scripted,
    usage: Scripted,
    troubles: list[str],
) -> None:
    """Each is asked once: what fails is what a monitor is there for."""
    service.usual |= {Call.HEALTH: health, Call.USAGE: usage}

    found = probe_service(partner, log)

    assert [probe["trouble"] for probe in found.probes] == troubles
    assert service.calls == [Call.HEALTH, Call.USAGE]
