"""A leg is followed to its end, and stopped, by what the store holds."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from proofsweep.domain.errors import ResultsError, UsageError
from proofsweep.domain.runs import Plan
from proofsweep.queries.status import active_legs, describe_run, heartbeats_of, only_active_run, stop_run
from proofsweep.store import legs as stored
from proofsweep.store.legs import Legs
from proofsweep.store.objects import FolderStore, Store
from proofsweep.store.parts import Results
from proofsweep.store.progress import LegProgress, OpenLeg

NOTHING = LegProgress(rows=4, finished_before=0, counts={})


@dataclass
class Steps:
    """Time that passes only while somebody waits; something may happen at each step."""

    at_step: dict[int, Callable[[], object]] = field(default_factory=dict)
    seconds: float = 0.0
    steps: int = 0

    def monotonic(self) -> float:
        return self.seconds

    def sleep(self, seconds: float) -> None:
        """Let time pass, and do what happens then."""
        self.seconds += seconds
        self.steps += 1
        assert self.steps < 100, "it never ends"
        self.at_step.get(self.steps, lambda: None)()


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> Steps:
    steps = Steps()
    monkeypatch.setattr("proofsweep.queries.status.time", steps)
    return steps


class FailingStore(FolderStore):
    """A folder that may fail to be read."""

    fails = False

    def read(self, name: str) -> bytes | None:
        """Fail, or read."""
        if self.fails:
            raise ResultsError("It is away.")
        return super().read(name)


@pytest.fixture
def store(tmp_path: Path) -> FailingStore:
    """Where the runs are."""
    return FailingStore(tmp_path)


@pytest.fixture
def legs(store: Store, plan: Plan) -> Legs:
    """A run whose first leg this process works on."""
    results = Results(store)
    results.write_plan(plan)
    legs = Legs(results, plan.run_id)
    legs.claim(1)
    legs.beat(1, NOTHING)
    return legs


def opened(legs: Legs) -> OpenLeg:
    """Return the leg that is worked on."""
    leg = describe_run(legs.results, legs.run_id).open_leg
    assert leg is not None
    return leg


def end(legs: Legs) -> None:
    """End the first leg."""
    legs.write_receipt(1, {"ended_by": "cancelled", "counts": {"accepted": 1}})


def test_a_leg_is_followed_to_its_end(steps: Steps, legs: Legs) -> None:
    """Each heartbeat is shown as it was told; nothing is invented between two."""
    told = replace(NOTHING, counts={"accepted": 1})
    steps.at_step = {2: lambda: legs.beat(1, told), 4: lambda: end(legs)}

    seen = [leg.progress for leg in heartbeats_of(legs.results, opened(legs))]

    assert seen == [NOTHING, NOTHING, told, told]


def test_the_following_ends_when_another_leg_has_gone_on(steps: Steps, legs: Legs) -> None:
    """The one that was followed is dead then."""
    steps.at_step = {1: lambda: legs.claim(2)}

    assert len(list(heartbeats_of(legs.results, opened(legs)))) == 1


def test_the_following_ends_with_the_process(steps: Steps, legs: Legs, monkeypatch: pytest.MonkeyPatch) -> None:
    """On its own machine that is known at once."""
    steps.at_step = {1: lambda: monkeypatch.setattr("proofsweep.store.lease.is_gone", lambda _claim: True)}

    assert len(list(heartbeats_of(legs.results, opened(legs)))) == 1


def test_a_silent_leg_is_waited_for_by_the_own_clock(steps: Steps, legs: Legs, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another machine's clock may be wrong by hours: only half a minute without a new heartbeat shows a dead leg."""
    monkeypatch.setattr(stored, "_age_seconds", lambda _beaten, _now: 7_200.0)
    steps.at_step = {5: lambda: legs.beat(1, NOTHING)}

    seen = list(heartbeats_of(legs.results, opened(legs)))

    assert not any(leg.is_alive for leg in seen)
    assert steps.seconds == 42.0  # 10 to the new heartbeat, and more than 30 after it


def test_a_store_that_fails_for_a_while_does_not_end_it(steps: Steps, legs: Legs, store: FailingStore) -> None:
    """What is shown stays what was told last."""
    steps.at_step = {1: lambda: setattr(store, "fails", True), 4: lambda: setattr(store, "fails", False)}
    steps.at_step[6] = lambda: end(legs)

    assert len(list(heartbeats_of(legs.results, opened(legs)))) == 6


def test_a_store_that_fails_for_a_minute_ends_the_following(steps: Steps, legs: Legs, store: FailingStore) -> None:
    """A person then sees why."""
    steps.at_step = {1: lambda: setattr(store, "fails", True)}

    with pytest.raises(ResultsError, match="away"):
        list(heartbeats_of(legs.results, opened(legs)))

    assert steps.seconds == 60.0


def test_a_stop_waits_until_the_leg_has_ended(steps: Steps, legs: Legs) -> None:
    """Then it says how."""
    steps.at_step = {3: lambda: end(legs)}

    stopped = stop_run(legs.results, legs.run_id, 60.0)

    assert (stopped.is_first, stopped.has_ended, steps.seconds) == (True, True, 3.0)
    assert (stopped.run.ended_by, stopped.run.active) == ("cancelled", None)


@pytest.mark.usefixtures("steps")
def test_a_stop_waits_no_longer_than_it_was_told(legs: Legs) -> None:
    """A second one asks nothing new, and waits again."""
    first = stop_run(legs.results, legs.run_id, 0.0)
    second = stop_run(legs.results, legs.run_id, 5.0)

    assert (first.is_first, first.has_ended) == (True, False)
    assert (second.is_first, second.has_ended) == (False, False)


@pytest.mark.usefixtures("steps")
def test_a_run_that_nobody_works_on_needs_no_stop(legs: Legs) -> None:
    """It has ended, or its process was killed; nothing is written."""
    end(legs)

    stopped = stop_run(legs.results, legs.run_id, 60.0)

    assert (stopped.leg, stopped.has_ended) == (None, True)
    assert not [name for name in legs.results.store.names(f"_runs/{legs.run_id}/legs/001") if "stop" in name]


@pytest.mark.usefixtures("steps")
def test_a_killed_leg_cannot_be_stopped(legs: Legs, monkeypatch: pytest.MonkeyPatch) -> None:
    """How the run stands says so."""
    monkeypatch.setattr("proofsweep.store.lease.is_gone", lambda _claim: True)

    stopped = stop_run(legs.results, legs.run_id, 60.0)

    assert (stopped.leg, stopped.run.ended_by) == (None, "killed")


def test_the_only_active_run_need_not_be_named(legs: Legs) -> None:
    """Of several, a person must name one; the message names them, and where they are worked on."""
    results = legs.results
    other = replace(results.plan(legs.run_id), run_id="20261121T000000Z_000bbbb")
    results.write_plan(other)
    assert only_active_run(results) == legs.run_id

    Legs(results, other.run_id).claim(1)
    with pytest.raises(UsageError, match=f"2 runs are active.*{other.run_id} .process .*{legs.run_id} "):
        only_active_run(results)
    end(legs)
    Legs(results, other.run_id).write_receipt(1, {"ended_by": "cancelled"})

    assert only_active_run(results) is None
    assert active_legs(results) == []


def test_a_run_counts_what_its_active_leg_has_told(legs: Legs, plan: Plan) -> None:
    """Its rows are in no part yet."""
    assert describe_run(legs.results, plan.run_id).remaining_now == 4
    legs.beat(1, replace(NOTHING, finished_before=None, counts={"accepted": 1}))  # legs before it may have rows
    assert describe_run(legs.results, plan.run_id).remaining_now == 4

    legs.beat(1, replace(NOTHING, counts={"accepted": 2, "failed": 1}))
    run = describe_run(legs.results, plan.run_id)

    assert (run.remaining, run.remaining_now) == (4, 1)
    assert [run.rows_now(word) for word in ("accepted", "rejected", "failed")] == [2, 0, 1]
    end(legs)
    ended = describe_run(legs.results, plan.run_id)
    assert (ended.active, ended.remaining_now, ended.rows_now("accepted")) == (None, 4, 0)
