"""One unexpected answer for many rows stops the run before it spends the quota, and no row is blamed."""

import json
from itertools import cycle, islice

import pytest

import proofsweep_sandbox as sandbox

from ..worlds.core import set_chosen
from ..worlds.sandbox_world import Samples, SandboxWorld

pytestmark = pytest.mark.usefixtures("without_prefect")


@pytest.fixture(autouse=True)
def _soon_probed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Send probes twice a second, so that a leg ends soon."""
    set_chosen(monkeypatch, probe_wait_seconds=0.5)
    monkeypatch.setenv("PROOFSWEEP_RETRY__BREAKER_SECONDS", "3")


@pytest.fixture
def valid(samples: Samples) -> list[sandbox.Sample]:
    return samples.valid


def test_a_few_rows_that_fail_alike_are_failed(world: SandboxWorld, valid: list[sandbox.Sample]) -> None:
    """So few may be the files' own fault: each row keeps its failure, exit 4."""
    catalog = world.manifest(valid[:3])
    world.operator.add_fault("verify", "status", status=400, code="invalid_request")

    code = world.run("verify", catalog)

    assert code == 4
    assert [row["reason"] for row in world.rows()] == ["http_400"] * 3


def test_an_emptied_registry_is_suspected(
    world: SandboxWorld,
    valid: list[sandbox.Sample],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """If files that the last run accepted are all refused alike, the run stops, and `resume` does the rest."""
    catalog = world.manifest(islice(cycle(valid), 60))
    first = world.run("verify", catalog)
    world.operator.add_fault("verify", "answer", answer={"good": False, "verdict": "unregistered"})
    second = world.run("verify", catalog)
    said = capsys.readouterr()
    refused = [row for row in world.rows() if row["verdict"] == "unregistered"]

    world.operator.clear_faults()
    third = world.run("resume")

    assert (first, second, third) == (0, 8, 0)
    assert "emptied registry" in said.out + said.err
    assert refused == []
    assert {row["outcome"] for row in world.rows()} == {"accepted"}


def test_a_known_good_file_shows_that_a_service_refuses_everything(
    world: SandboxWorld, valid: list[sandbox.Sample], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing was accepted before, and fifty refusals alike end the run: exit 8, and `resume` does the rest."""
    known = [[str(each.audio), str(each.sidecar)] if each.sidecar else str(each.audio) for each in valid]
    monkeypatch.setenv("PROOFSWEEP_SERVICE__KNOWN_GOOD", json.dumps(known))
    catalog = world.manifest(islice(cycle(valid), 120))
    world.operator.add_fault("verify", "answer", answer={"good": False, "verdict": "unregistered"})
    stopped = world.run("verify", catalog)
    world.operator.clear_faults()

    resumed = world.run("resume")

    outcomes = [row["outcome"] for row in world.rows()]
    assert (stopped, resumed) == (8, 3)
    assert len(outcomes) == 120
    assert outcomes.count("rejected") <= 2 * 49  # of each mode
