"""A leg is one attempt at a run, from claim to receipt, however the work inside ends."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

import pytest

from proofsweep.domain.errors import ConfigError, ResultsError, RunIsActive, RunMustStop
from proofsweep.domain.exchanges import Call
from proofsweep.domain.runs import Bounds, Plan, Slice
from proofsweep.store import layout
from proofsweep.store.keys import bind_key
from proofsweep.store.objects import FolderStore
from proofsweep.store.parts import Results
from proofsweep.verify.attempt import LegRequest, claimed_leg, leg_session, open_leg, settle_legs_before
from proofsweep.verify.budget import BudgetGuard
from proofsweep.verify.service import ServiceStatus
from proofsweep.verify.session import Heartbeat, LegContext
from proofsweep.verify.worker import verify_slice

from ...worlds.ended_runs import end_leg, plan_of_run
from ..conftest import LegBuilder
from ..left_behind import exchange, journal_rows, let_holder_die, rows_of
from ..scripted_service import NOW, Scripted, ScriptedService

URL = "https://partner.example/v1"
RESET = NOW + timedelta(days=3)
STATUS = ServiceStatus(version="7", commit="c0ffee", deployed_at=NOW, headroom=1_000, quota_reset=RESET)


class SteppingStore(FolderStore):
    """A store that notes what kind of object is created."""

    kinds = ("_keys", "claim", "verdicts", "exchanges", "receipt", "runs/run_date")

    def __init__(self, root: Path, steps: list[str]) -> None:
        """Take the list for the notes."""
        super().__init__(root)
        self.steps = steps

    def create(self, name: str, content: bytes) -> None:
        """Note it once it is there; the segments of a journal are no step."""
        super().create(name, content)
        if "/journal/" not in name:
            self.steps += [kind for kind in self.kinds if kind in name]


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltRequest(LegRequest):
    """A request, and what makes the context of the leg with a number."""

    context_of: Callable[[int], LegContext]


@pytest.fixture
def request_for(new_leg: LegBuilder) -> BuiltRequest:
    """What the first leg of a run of three items is opened with."""
    plan = new_leg.plan(3)
    return BuiltRequest(
        results=new_leg.results,
        plan=plan,
        base_url=URL,
        service=STATUS,
        key_fingerprint=lambda: "abc",
        flow_run_id="flow-7",
        clock=lambda: NOW,
        context_of=lambda number: new_leg.leg(plan, number),
    )


@contextmanager
def held(request: BuiltRequest) -> Iterator[LegContext]:
    """Claim a leg, make its context, and hold it."""
    with claimed_leg(request) as (number, facts):
        leg = request.context_of(number)
    with leg_session(request, facts, leg):
        yield leg


def run(request: BuiltRequest, work: Callable[[LegContext], object] | None = None) -> None:
    """Hold a leg, and verify all that remains; or do something else in it."""
    with held(request) as leg:
        if work is not None:
            work(leg)
        for piece in leg.remaining.slices():
            verify_slice(leg, piece)


def receipt_of(request: BuiltRequest, new_leg: LegBuilder) -> dict[str, object]:
    """Read the first leg's receipt."""
    receipt = new_leg.legs(request.plan).receipt(1)
    assert receipt is not None
    return receipt


def row_of(results: Results, plan: Plan) -> dict[str, object]:
    """Read the one row in `runs`."""
    (row,) = results.table("runs", results.parts_of("runs", plan)).to_pylist()
    assert isinstance(row, dict)
    return row


def end_by(ended_by: str) -> Callable[[LegContext], None]:
    """Return work that stops its leg."""
    return lambda leg: leg.stop.pull(RunMustStop("Enough.", ended_by=ended_by))


def test_a_leg_goes_from_claim_to_receipt(
    request_for: BuiltRequest, new_leg: LegBuilder, service: ScriptedService, tmp_path: Path
) -> None:
    """The key is bound before the claim."""
    steps: list[str] = []
    new_leg.results = Results(SteppingStore(tmp_path / "results", steps))
    service.on_call = lambda call: call is Call.VERIFY and steps.append("verify")
    request = replace(request_for, results=new_leg.results)

    run(request, lambda _leg: steps.append("work"))

    begin = ["_keys", "claim", "work"]
    assert steps == [*begin, *["verify"] * 3, "verdicts", "exchanges", "receipt", "runs/run_date"]
    assert rows_of(request.results, request.plan) == [0, 1, 2]


def test_the_row_of_a_leg_says_how_it_began_and_ended(request_for: BuiltRequest, new_leg: LegBuilder) -> None:
    """What the service said, the quota before and after, the key's fingerprint and the flow run."""
    run(request_for, lambda leg: leg.dispatcher.remember(500.0))

    row = row_of(request_for.results, request_for.plan)
    told = {"quota_before": 1_000, "quota_after": 900, "key_fingerprint": "abc", "flow_run_id": "flow-7"}
    told |= {"service_version": "7", "service_commit": "c0ffee", "service_deployed_at": NOW}
    told |= {"started_at": NOW, "finished_at": NOW, "rate_learned": 500.0, "ended_by": "complete", "accepted": 3}
    assert {name: row[name] for name in told} == told
    assert receipt_of(request_for, new_leg)["quota_reset"] == str(RESET)


def test_a_key_of_another_service_leaves_no_leg(request_for: BuiltRequest, new_leg: LegBuilder) -> None:
    """It was sent to another address before; keys belong to one environment."""
    bind_key(request_for.results.store, "abc", "https://other.example/v1")

    with pytest.raises(ResultsError, match="was used with"):
        run(request_for)

    assert new_leg.legs(request_for.plan).numbers() == []


def test_a_leg_whose_context_cannot_be_made_is_released(request_for: BuiltRequest, new_leg: LegBuilder) -> None:
    """Nobody works on it, so nobody is kept out."""

    def fail(_number: int) -> LegContext:
        raise ConfigError("The key is gone.")

    with pytest.raises(ConfigError):
        run(replace(request_for, context_of=fail))

    assert new_leg.legs(request_for.plan).numbers() == []


def test_a_leg_that_comes_back_loses_no_request_id_and_doubles_no_row(
    request_for: BuiltRequest, new_leg: LegBuilder
) -> None:
    """It was taken for dead: another leg has published its journal, and works. Then its process goes on."""
    results, plan = request_for.results, request_for.plan

    def sleep_for_long(leg: LegContext) -> None:
        verify_slice(leg, leg.remaining.slices()[0])
        leg.journal.flush()
        let_holder_die(results, plan, 1)
        settle_legs_before(results, plan, lambda: NOW, open_leg(results, plan, lambda: NOW, {}))

    with pytest.raises(RunIsActive, match=r"Leg 1 .* was taken over"):
        run(request_for, sleep_for_long)

    trail = results.table("exchanges", results.parts_of("exchanges", plan), ["request_id"])["request_id"].to_pylist()
    by_row = [row for row in rows_of(results, plan, "exchanges") if row is not None]
    assert rows_of(results, plan) == [0]
    assert sorted(by_row) == sorted([0, 1, 2] * 3)
    assert len(trail) == len(by_row) + 1
    assert journal_rows(results, plan, 1, "exchanges") == []
    assert (new_leg.legs(plan).receipt(1) or {})["ended_by"] == "killed"


def test_a_key_that_takes_over_is_bound_too(request_for: BuiltRequest) -> None:
    """It was rotated meanwhile, and was sent to this service."""
    fingerprints = ["old"]

    run(replace(request_for, key_fingerprint=lambda: fingerprints[-1]), lambda _leg: fingerprints.append("new"))

    assert request_for.results.store.read(layout.key_name("new")) is not None


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt])
def test_work_that_breaks_off_ends_the_leg_as_an_error(
    request_for: BuiltRequest, new_leg: LegBuilder, error: type[BaseException]
) -> None:
    """It is raised again; what was finished is published, and the run can be resumed."""

    def break_off(leg: LegContext) -> None:
        verify_slice(leg, leg.remaining.slices()[1])
        raise error

    with pytest.raises(error):
        run(request_for, break_off)

    receipt = receipt_of(request_for, new_leg)
    assert (receipt["ended_by"], receipt["why"]) == ("error", "The work broke off.")
    assert rows_of(request_for.results, request_for.plan) == [1]


def test_a_leg_whose_rows_remain_for_no_reason_is_not_complete(request_for: BuiltRequest, new_leg: LegBuilder) -> None:
    """Only a mistake of this program leads to it; the run can be resumed."""
    with held(request_for) as leg:
        verify_slice(leg, leg.remaining.slices()[0])

    receipt = receipt_of(request_for, new_leg)
    assert (receipt["ended_by"], receipt["why"]) == ("error", "Rows remain, and nothing says why.")
    assert row_of(request_for.results, request_for.plan)["ended_by"] == "error"


def test_the_first_reason_to_stop_is_the_legs(request_for: BuiltRequest, new_leg: LegBuilder) -> None:
    """The error that a stop raises in the work is no error of its own."""

    def stop_and_raise(leg: LegContext) -> None:
        end_by("cancelled")(leg)
        leg.stop.check()

    with pytest.raises(RunMustStop):
        run(request_for, stop_and_raise)

    receipt = receipt_of(request_for, new_leg)
    assert (receipt["ended_by"], receipt["why"]) == ("cancelled", "Enough.")


@pytest.mark.parametrize(
    ("ended_by", "quota_after", "asks"),
    [("cancelled", 900, 1), ("window", 900, 1), ("quota", 0, 0), ("breaker", None, 0), ("key_refused", None, 0)],
)
def test_the_quota_in_the_end_is_asked_for_where_there_will_be_an_answer(
    request_for: BuiltRequest, service: ScriptedService, *, ended_by: str, quota_after: int | None, asks: int
) -> None:
    """A service that said that nothing is left has said so."""
    run(request_for, end_by(ended_by))

    assert row_of(request_for.results, request_for.plan)["quota_after"] == quota_after
    assert service.calls.count(Call.USAGE) == asks


def test_a_leg_knows_its_quota_from_the_first_item(
    request_for: BuiltRequest, new_leg: LegBuilder, service: ScriptedService
) -> None:
    """Calls for one file are left, and those of the usage calls that make sure: the others remain."""
    service.usual[Call.USAGE] = Scripted(document={}, remaining=1)

    run(replace(request_for, service=replace(STATUS, headroom=3)))

    receipt, row = receipt_of(request_for, new_leg), row_of(request_for.results, request_for.plan)
    assert (receipt["ended_by"], row["accepted"], row["remaining"]) == ("quota", 1, 2)
    assert "reserved: 0; it resets 2026-11-23 12:00 UTC" in str(receipt["why"])
    assert row["quota_after"] == 1


def test_what_is_still_in_memory_at_the_end_is_written(request_for: BuiltRequest, new_leg: LegBuilder) -> None:
    """Rows, and exchanges of no row: the last is that of the quota."""
    new_leg.unattributed.append(exchange(Call.HEALTH))

    def one_file(leg: LegContext) -> None:
        verify_slice(leg, Slice(0, 0, 1))
        new_leg.unattributed.append(exchange(Call.HEALTH))
        end_by("cancelled")(leg)

    run(request_for, one_file)

    assert row_of(request_for.results, request_for.plan)["accepted"] == 1
    assert rows_of(request_for.results, request_for.plan) == [0]
    assert rows_of(request_for.results, request_for.plan, "exchanges").count(None) == 3


def test_the_receipt_names_the_rows_in_doubt(
    request_for: BuiltRequest, new_leg: LegBuilder, service: ScriptedService
) -> None:
    """They were tried and remain; the next leg reads there which rows come last."""
    service.script[Call.VERIFY] = [Scripted(status=422)]

    def one_file(leg: LegContext) -> None:
        verify_slice(leg, Slice(0, 1, 2))
        end_by("cancelled")(leg)

    run(request_for, one_file)

    assert receipt_of(request_for, new_leg)["in_doubt"] == [1]
    assert row_of(request_for.results, request_for.plan)["remaining"] == 3
    assert new_leg.legs(request_for.plan).in_doubt_before(2) == {1}


class _BrokenGuard(BudgetGuard):
    """A guard whose thread ends by a mistake."""

    def keep_probing(self, over: threading.Event) -> None:
        """Fail at once."""
        del over
        raise ZeroDivisionError


class _BrokenHeartbeat(Heartbeat):
    """A heartbeat whose thread ends by a mistake."""

    def keep(self, over: threading.Event) -> None:
        """Fail at once."""
        del over
        raise ZeroDivisionError


@pytest.mark.parametrize("thread", ["heartbeat", "quota"])
def test_a_helper_thread_that_fails_ends_the_leg(request_for: BuiltRequest, new_leg: LegBuilder, thread: str) -> None:
    """Without it the leg would be unwatched, or overspend: the rest remains, and the error is raised."""

    def broken(number: int) -> LegContext:
        leg = new_leg.leg(request_for.plan, number)
        beat = leg.heartbeat
        heartbeat = _BrokenHeartbeat(
            legs=beat.legs,
            leg=number,
            journal=beat.journal,
            trail=beat.trail,
            budget=beat.budget,
            stop=beat.stop,
            store_outage_seconds=1.0,
        )
        guard = _BrokenGuard(Bounds(), leg.verify.partner, leg.stop, lambda: NOW)
        return replace(leg, heartbeat=heartbeat) if thread == "heartbeat" else replace(leg, budget=guard)

    def wait_for_the_end(leg: LegContext) -> None:
        with pytest.raises(RunMustStop):
            leg.stop.rest(10.0)

    with pytest.raises(ZeroDivisionError):
        run(replace(request_for, context_of=broken), wait_for_the_end)

    receipt = receipt_of(request_for, new_leg)
    assert receipt["ended_by"] == "error"
    assert receipt["why"] == f"The thread {thread} failed through a mistake of this program (ZeroDivisionError)."
    assert row_of(request_for.results, request_for.plan)["remaining"] == 3


def test_a_leg_after_one_whose_clock_was_ahead_is_of_a_later_epoch(
    request_for: BuiltRequest, new_leg: LegBuilder
) -> None:
    """Its claim and its row of `runs` say so; the time of that other leg stays as it was written."""
    end_leg(new_leg.results, plan_of_run("20261119T120000Z_000aa"), epoch=3, finished_at="2030-01-01T00:00:00+00:00")

    run(request_for)

    (row,) = new_leg.results.table("runs", new_leg.results.parts_of("runs", request_for.plan)).to_pylist()
    assert row["epoch"] == new_leg.legs(request_for.plan).epoch(1) == 4
