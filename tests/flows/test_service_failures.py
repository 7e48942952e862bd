"""A partner outage, or a service that refuses everything, never counts against a file; what it adds changes no row."""

import json
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from itertools import cycle, islice

import pytest

from ..worlds.core import set_chosen
from ..worlds.sandbox_world import Samples, SandboxWorld

NOTICED_SECONDS = 3.0
"""So long, calls that were sent before the run noticed the outage may fail on a busy machine."""
PROBED_SECONDS = 8.0
"""Long enough for hundreds of calls if nothing limited them."""


def test_a_run_waits_for_the_end_of_an_outage_with_few_calls(
    world: SandboxWorld, samples: Samples, monkeypatch: pytest.MonkeyPatch
) -> None:
    """During the outage one probe at a time is sent, at growing intervals; after it the run goes on by itself."""
    monkeypatch.setenv("PROOFSWEEP_RETRY__BREAKER_SECONDS", "120")
    world.operator.add_fault("verify", "status", status=503)

    with ThreadPoolExecutor(1) as other_thread:
        outage = other_thread.submit(end_outage, world)
        code = world.run("verify", world.manifest(islice(cycle(samples.valid), 40)))

    probed_since = outage.result() - timedelta(seconds=PROBED_SECONDS)
    failed = [row["started_at"] for row in world.table("exchanges") if row["call"] == "verify" and row["status"] == 503]
    assert code == 0
    assert len(world.rows()) == 40
    assert len(failed) >= 10
    assert sum(moment >= probed_since for moment in failed) <= 4


def end_outage(world: SandboxWorld) -> datetime:
    world.wait_for(lambda: sum(fault["struck"] for fault in world.operator.faults()) >= 10)
    time.sleep(NOTICED_SECONDS + PROBED_SECONDS)  # how long the outage lasts
    ended = datetime.now(UTC)
    world.operator.clear_faults()
    return ended


@pytest.mark.usefixtures("without_prefect")
def test_a_known_good_file_shows_that_a_service_refuses_everything(
    world: SandboxWorld, samples: Samples, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing was accepted before, and fifty refusals alike end the run: exit 8, and `resume` does the rest."""
    set_chosen(monkeypatch, probe_wait_seconds=0.5)
    monkeypatch.setenv("PROOFSWEEP_RETRY__BREAKER_SECONDS", "3")
    known = [[str(each.audio), str(each.sidecar)] if each.sidecar else str(each.audio) for each in samples.valid]
    monkeypatch.setenv("PROOFSWEEP_SERVICE__KNOWN_GOOD", json.dumps(known))
    catalog = world.manifest(islice(cycle(samples.valid), 120))
    world.operator.add_fault("verify", "answer", answer={"good": False, "verdict": "unregistered"})
    stopped = world.run("verify", catalog)
    world.operator.clear_faults()

    resumed = world.run("resume")

    outcomes = [row["outcome"] for row in world.rows()]
    assert (stopped, resumed) == (8, 3)
    assert len(outcomes) == 120
    assert outcomes.count("rejected") <= 2 * 49  # of each mode


NEW_MEMBER = {"addedLater": {"since": "2.5.0", "list": [1, None, {"deep": True}]}}
SUNSET = "Sat, 01 May 2027 00:00:00 GMT"


@pytest.mark.usefixtures("without_prefect")
def test_unknown_members_values_and_fields_change_no_row(world: SandboxWorld, samples: Samples) -> None:
    """A new code counts as its status, and is tried again; new members are named, and an announced end is recorded."""
    before = {str(sample.audio): sample.verdict for sample in samples.files}
    world.operator.add_fault("*", "answer", answer=NEW_MEMBER)
    odd = {"classification": "co_performed", "grade": {"rubric": 7}, "interpretation": [1], "embeddedCredential": 3}
    world.operator.add_fault("verify", "answer", answer=odd)
    world.operator.add_fault("usage", "answer", answer={"plan": {"quotaLimit": 9_000, "quotaPeriod": "QUARTER"}})
    world.operator.add_fault("verify", "status", status=500, code="internal_since_2_5", after=9, count=1)
    for call in ("health", "usage", "uploads", "verify"):
        world.operator.add_fault(call, "headers", headers={"Sunset": SUNSET})

    code = world.run("verify", str(samples.folder))

    rows, exchanges = world.rows(), world.table("exchanges")
    assert code == 3
    assert {str(row["audio"]): row["verdict"] for row in rows} == before
    assert sum(row["verify_attempts"] for row in rows) == 1 + sum(row["verify_attempts"] > 0 for row in rows)
    assert {row["unnamed"] for row in exchanges if row["call"] == "verify" and row["status"] == 200} == {"addedLater"}
    assert [leg["sunset"] for leg in world.legs()] == [SUNSET]
    assert {row["call"] for row in exchanges if row["sunset"]} == {"health", "usage", "uploads", "verify"}
