"""A leg is followed to its end, and stopped, by what the store holds."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest

from proofsweep.domain.runs import Plan
from proofsweep.queries.status import RunStatus, describe_run, heartbeats_of, stop_run
from proofsweep.store.lease import Holder, LegProgress, Legs, OpenTerm
from proofsweep.store.parts import Results

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
        self.seconds += seconds
        self.steps += 1
        assert self.steps < 100, "it never ends"
        self.at_step.get(self.steps, lambda: None)()


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> Steps:
    steps = Steps()
    monkeypatch.setattr("proofsweep.queries.status.monotonic", steps.monotonic)
    monkeypatch.setattr("proofsweep.queries.status.sleep", steps.sleep)
    return steps


@pytest.fixture
def legs(results: Results, plan: Plan) -> Legs:
    results.write_plan(plan)
    legs = Legs(results.store, plan.run_id)
    legs.take(1)
    legs.beat(1, NOTHING)
    return legs


def opened(legs: Legs) -> RunStatus:
    return describe_run(Results(legs.store), legs.name)


def end(legs: Legs) -> None:
    legs.write_receipt(1, {"ended_by": "cancelled", "counts": {"accepted": 1}})


def test_a_leg_is_followed_to_its_end(steps: Steps, legs: Legs) -> None:
    """Each heartbeat is shown as it was told; nothing is invented between two."""
    told = replace(NOTHING, counts={"accepted": 1})
    steps.at_step = {2: lambda: legs.beat(1, told), 4: lambda: end(legs)}

    seen = [run.progress for run in heartbeats_of(Results(legs.store), opened(legs))]

    assert seen == [NOTHING, NOTHING, told, told]


def test_the_following_ends_with_the_process(steps: Steps, legs: Legs, monkeypatch: pytest.MonkeyPatch) -> None:
    """On its own machine its death is known at once."""
    steps.at_step = {1: lambda: monkeypatch.setattr(Holder, "is_gone", True)}

    assert len(list(heartbeats_of(Results(legs.store), opened(legs)))) == 1


def test_the_next_leg_is_followed_in_its_turn(steps: Steps, legs: Legs) -> None:
    """A person follows the run; of one in partitions, each has a leg of its own."""
    steps.at_step = {1: lambda: legs.take(2), 3: lambda: legs.write_receipt(2, {"ended_by": "complete"})}

    seen = [[leg.leg for leg in run.open_legs] for run in heartbeats_of(Results(legs.store), opened(legs))]

    assert seen == [[1], [2], [2]]


def test_a_silent_leg_is_waited_for_by_the_own_clock(steps: Steps, legs: Legs, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another machine's clock may be wrong by hours: only half a minute without a new heartbeat shows a dead leg."""
    monkeypatch.setattr(OpenTerm, "is_alive", False)
    steps.at_step = {5: lambda: legs.beat(1, NOTHING)}

    seen = list(heartbeats_of(Results(legs.store), opened(legs)))

    assert not any(run.active for run in seen)
    assert steps.seconds == 42.0  # 10 to the new heartbeat, and more than 30 after it


def test_a_stop_waits_for_no_machine_that_is_gone(steps: Steps, legs: Legs, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody tells of a container that was removed: half a minute without a sign of life does."""
    monkeypatch.setattr(OpenTerm, "is_alive", False)
    steps.at_step = {5: lambda: legs.beat(1, NOTHING)}

    stopped = stop_run(Results(legs.store), legs.name, 60.0)

    assert (stopped.has_ended, stopped.is_silent, steps.seconds) == (False, True, 36.0)


def test_a_stop_waits_until_the_leg_has_ended(steps: Steps, legs: Legs) -> None:
    """Then it says how; a second request asks nothing new."""
    assert not stop_run(Results(legs.store), legs.name, 0.0).has_ended
    steps.at_step = {3: lambda: end(legs)}

    stopped = stop_run(Results(legs.store), legs.name, 60.0)

    assert (stopped.has_ended, steps.seconds) == (True, 3.0)
    assert (stopped.run.ended_by, stopped.run.active) == ("cancelled", ())
