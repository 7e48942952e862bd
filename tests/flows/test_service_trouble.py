"""A bad night at the partner never reads as bad music."""

import threading
import time
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import pytest

import sandbox

Samples = tuple[Path, list[sandbox.Sample]]
World = Any


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retry and give up within moments."""
    monkeypatch.setenv("PROOFSWEEP_RETRY__FIRST_WAIT_SECONDS", "0.01")
    monkeypatch.setenv("PROOFSWEEP_RETRY__LONGEST_WAIT_SECONDS", "0.1")
    monkeypatch.setenv("PROOFSWEEP_RETRY__BREAKER_SECONDS", "0.5")
    monkeypatch.setenv("PROOFSWEEP_PACE__LONGEST_PAUSE_SECONDS", "3")


@pytest.fixture
def catalog(world: World, samples: Samples) -> str:
    """Forty valid files."""
    valid = [sample for sample in samples[1] if sample.verdict == "valid"]
    return str(world.manifest(islice(cycle(valid), 40)))


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("call", ["uploads", "slot", "verify"])
def test_an_outage_leaves_rows_remaining_and_resume_finishes_them(world: World, catalog: str, call: str) -> None:
    """When a call fails for everyone, the run ends with 8 and no row is failed; resumed later, all are accepted."""
    world.operator.add_fault(call, "status", status=503)
    stopped = world.run("verify", catalog)
    rows_then = world.table("verdicts") if any(world.results.glob("verdicts/*/*")) else []
    world.operator.clear_faults()

    code = world.run("resume")

    assert (stopped, rows_then) == (8, [])
    assert code == 0
    assert len(world.rows()) == 40


def test_an_outage_that_ends_is_waited_for_and_costs_a_handful_of_calls(
    world: World, catalog: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While nobody is answered one call at a time asks, ever more rarely, and then the run goes on by itself."""
    monkeypatch.setenv("PROOFSWEEP_RETRY__BREAKER_SECONDS", "120")
    world.operator.add_fault("verify", "status", status=503)
    strikes: list[int] = []
    healer = threading.Thread(target=_heal, args=(world.operator, strikes))
    healer.start()

    code = world.run("verify", catalog)
    healer.join()

    assert code == 0
    assert len(world.rows()) == 40
    assert strikes[1] - strikes[0] <= 4


def _heal(operator: sandbox.Operator, strikes: list[int]) -> None:
    """Let verify fail until all that was on its way has failed, and then for eight seconds more."""
    deadline = time.monotonic() + 60.0
    while sum(fault["struck"] for fault in operator.faults()) < 10 and time.monotonic() < deadline:
        time.sleep(0.05)
    for seconds in (3.0, 8.0):
        time.sleep(seconds)
        strikes.append(sum(fault["struck"] for fault in operator.faults()))
    operator.clear_faults()


@pytest.mark.usefixtures("impatient")
def test_scattered_faults_cost_tries_and_no_row(world: World, catalog: str) -> None:
    """One call in ten fails in some way, and still every row is accepted."""
    world.operator.add_fault("uploads", "status", status=500, share=0.1)
    world.operator.add_fault("slot", "status", status=403, share=0.1)
    world.operator.add_fault("verify", "truncate", share=0.05)
    world.operator.add_fault("verify", "reset_after", share=0.05)

    code = world.run("verify", catalog)

    assert code == 0
    assert {row["verdict"] for row in world.rows()} == {"valid"}
    assert any(row["failure"] or (row["status"] or 0) >= 400 for row in world.table("exchanges"))


@pytest.mark.usefixtures("impatient")
def test_a_refused_key_stops_the_run_within_a_few_calls(world: World, catalog: str) -> None:
    """403 from the API means the key: exit 7, rows remain."""
    world.operator.add_fault("verify", "status", status=403, code="forbidden", after=5)

    code = world.run("verify", catalog)

    assert code == 7
    assert all(row["outcome"] == "accepted" for row in world.rows())
    assert len(world.rows()) < 40


def test_a_used_up_quota_stops_the_run_and_more_quota_lets_it_go_on(world: World, catalog: str) -> None:
    """The quota's end is no throttle and no failure: exit 5, and resume does the rest."""
    world.operator.set_quota(31, tenant=world.tenant)
    stopped = world.run("verify", catalog)
    world.operator.set_quota(1_000, tenant=world.tenant)

    code = world.run("resume")

    assert (stopped, code) == (5, 0)
    assert len(world.rows()) == 40


@pytest.mark.usefixtures("impatient")
def test_a_service_that_cannot_tell_its_quota_is_worked_with(world: World, catalog: str) -> None:
    """The headroom is good to know, and nothing hangs on it."""
    world.operator.add_fault("usage", "status", status=500)

    code = world.run("verify", catalog)

    (leg,) = world.table("runs")
    assert code == 0
    assert (leg["quota_before"], leg["quota_after"]) == (None, None)


def test_a_busy_lane_is_waited_out(world: World, catalog: str) -> None:
    """A 429 holds everybody back for as long as it says; no row fails by it."""
    world.operator.set_lane(40, 10)

    code = world.run("verify", catalog)

    assert code == 0
    assert sum(leg["throttled"] for leg in world.table("runs")) > 0


@pytest.mark.parametrize(
    ("answer", "wanted"),
    [
        ({"verdict": "quantumSealed"}, ("rejected", "unknown_verdict", False)),
        ({"good": False}, ("rejected", "contradictory_answer", False)),
        ({"verdict": "tampered"}, ("rejected", "contradictory_answer", False)),
        ({"good": "true"}, ("failed", "bad_answer", False)),
        ({"good": None}, ("failed", "bad_answer", False)),
        ({"verdict": 7}, ("failed", "bad_answer", False)),
        ({"grade": "A+", "interpretation": [1], "embeddedCredential": 3}, ("accepted", None, True)),
    ],
)
def test_odd_answers_are_kept_and_not_accepted(
    world: World, catalog: str, answer: dict[str, object], wanted: tuple[object, ...]
) -> None:
    """Only `good is True` with `valid` is accepted; what the rest becomes is told by its reason."""
    world.operator.add_fault("verify", "answer", answer=answer)

    world.run("verify", catalog)

    rows = world.rows()
    assert {(row["outcome"], row["reason"], row["accepted"]) for row in rows} == {wanted}
    assert {row["verify_attempts"] for row in rows} == {1}
