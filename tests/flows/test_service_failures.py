"""A partner outage never counts against a file."""

import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from itertools import cycle, islice

import pytest

from ..worlds.sandbox_world import Samples, SandboxWorld

# chosen: calls sent before the run notices the outage may fail for so long; half may fail on a busy machine.
NOTICED_SECONDS = 3.0

# chosen: long enough for hundreds of calls if nothing limited them; half proves less, twice only takes longer.
PROBED_SECONDS = 8.0


@pytest.fixture
def quick_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retry and give up within a second."""
    monkeypatch.setenv("PROOFSWEEP_RETRY__FIRST_WAIT_SECONDS", "0.01")
    monkeypatch.setenv("PROOFSWEEP_RETRY__LONGEST_WAIT_SECONDS", "0.1")
    monkeypatch.setenv("PROOFSWEEP_RETRY__BREAKER_SECONDS", "0.5")
    monkeypatch.setenv("PROOFSWEEP_PACE__LONGEST_PAUSE_SECONDS", "3")


@pytest.fixture
def catalog(world: SandboxWorld, samples: Samples) -> str:
    """Forty valid files."""
    return world.manifest(islice(cycle(samples.valid), 40))


@pytest.mark.usefixtures("quick_retries")
@pytest.mark.parametrize("call", ["uploads", "slot", "verify"])
def test_an_outage_leaves_rows_remaining_and_resume_finishes_them(world: SandboxWorld, catalog: str, call: str) -> None:
    """When a call fails for every item, the run exits 8 and no row is failed; a later `resume` accepts all."""
    world.operator.add_fault(call, "status", status=503)
    stopped = world.run("verify", catalog)
    rows_then = world.rows()
    world.operator.clear_faults()

    code = world.run("resume")

    assert (stopped, rows_then) == (8, [])
    assert code == 0
    assert len(world.rows()) == 40


def test_a_run_waits_for_the_end_of_an_outage_with_few_calls(
    world: SandboxWorld, catalog: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """During the outage one probe at a time is sent, at growing intervals; after it the run goes on by itself."""
    monkeypatch.setenv("PROOFSWEEP_RETRY__BREAKER_SECONDS", "120")
    world.operator.add_fault("verify", "status", status=503)

    with ThreadPoolExecutor(1) as other_thread:
        outage = other_thread.submit(end_outage, world)
        code = world.run("verify", catalog)

    probed_since = outage.result() - timedelta(seconds=PROBED_SECONDS)
    failed = [row["started_at"] for row in world.table("exchanges") if row["call"] == "verify" and row["status"] == 503]
    assert code == 0
    assert len(world.rows()) == 40
    assert len(failed) >= 10
    assert sum(moment >= probed_since for moment in failed) <= 4


def end_outage(world: SandboxWorld) -> datetime:
    """End the outage some time after it was noticed; give the moment."""
    world.wait_for(lambda: sum(fault["struck"] for fault in world.operator.faults()) >= 10)
    time.sleep(NOTICED_SECONDS + PROBED_SECONDS)  # how long the outage lasts
    ended = datetime.now(UTC)
    world.operator.clear_faults()
    return ended


@pytest.mark.usefixtures("quick_retries")
def test_scattered_faults_cost_retries_and_no_row(world: SandboxWorld, catalog: str) -> None:
    """Up to one call in ten fails, and every row is accepted all the same."""
    # No row can meet five failures of one call, which would fail it.
    world.operator.add_fault("uploads", "status", status=500, share=0.1, count=4)
    world.operator.add_fault("slot", "status", status=403, share=0.1, count=4)
    world.operator.add_fault("verify", "truncate", share=0.05, count=2)
    world.operator.add_fault("verify", "reset_after", share=0.05, count=2)

    code = world.run("verify", catalog)

    assert code == 0
    assert {row["verdict"] for row in world.rows()} == {"valid"}
    assert any(row["failure"] or (row["status"] or 0) >= 400 for row in world.table("exchanges"))


@pytest.mark.usefixtures("quick_retries")
def test_a_refused_key_stops_the_run_within_a_few_calls(world: SandboxWorld, catalog: str) -> None:
    """403 from the API is about the key: exit 7, and rows remain."""
    world.operator.add_fault("verify", "status", status=403, code="forbidden", after=5)

    code = world.run("verify", catalog)

    assert code == 7
    assert {row["outcome"] for row in world.rows()} == {"accepted"}
    assert len(world.rows()) < 40


def test_a_spent_quota_stops_the_run_and_more_quota_lets_it_continue(world: SandboxWorld, catalog: str) -> None:
    """The end of the quota is neither a pause nor a failure: exit 5, and `resume` does the rest."""
    world.operator.set_quota(31, tenant=world.tenant)
    stopped = world.run("verify", catalog)
    world.operator.set_quota(1_000, tenant=world.tenant)

    code = world.run("resume")

    assert (stopped, code) == (5, 0)
    assert len(world.rows()) == 40


@pytest.mark.usefixtures("quick_retries")
def test_a_service_without_usage_figures_is_used_all_the_same(world: SandboxWorld, catalog: str) -> None:
    """The quota is recorded as unknown, and the run goes on."""
    world.operator.add_fault("usage", "status", status=500)

    code = world.run("verify", catalog)

    (leg,) = world.legs()
    assert code == 0
    assert (leg["quota_before"], leg["quota_after"]) == (None, None)


def test_a_busy_lane_is_waited_out(world: SandboxWorld, catalog: str) -> None:
    """A 429 pauses all calls for as long as it says, and no row fails."""
    world.operator.set_lane(40, 10)

    code = world.run("verify", catalog)

    assert code == 0
    assert sum(leg["throttled"] for leg in world.legs()) > 0


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
        ({"mood": "not to be stored", "grade": {"human": 1, "taste": 2}}, ("accepted", None, True)),
    ],
)
def test_unexpected_answers_are_stored_and_only_valid_is_accepted(
    world: SandboxWorld, catalog: str, answer: dict[str, object], wanted: tuple[object, ...]
) -> None:
    """Only `good is True` with `valid` is accepted; the reason of each other row says why it is not."""
    world.operator.add_fault("verify", "answer", answer=answer)

    world.run("verify", catalog)

    rows = world.rows()
    assert {(row["outcome"], row["reason"], row["accepted"]) for row in rows} == {wanted}
    assert {row["verify_attempts"] for row in rows} == {1}
    verified = [row["unnamed"] for row in world.table("exchanges") if row["call"] == "verify"]
    assert set(verified) == {"grade.taste,mood" if "mood" in answer else None}
