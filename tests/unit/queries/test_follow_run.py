"""A leg is followed to its end, and stopped, by what the store holds."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest

from proofsweep.domain.runs import Plan
from proofsweep.queries.status import RunStatus, describe_run, heartbeats_of, stop_run
from proofsweep.store.heartbeat import LegProgress, OpenLeg
from proofsweep.store.holder import Holder
from proofsweep.store.parts import Results

from ...worlds.core import StoredRun

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
def run(results: Results, plan: Plan) -> StoredRun:
    """A run with one leg that has shown a sign of life."""
    run = StoredRun(results, plan)
    run.write_plan()
    run.take()
    beat(run)
    return run


def beat(run: StoredRun, **counts: int) -> None:
    run.beat(1, finished_before=0, counts=counts)


def opened(run: StoredRun) -> RunStatus:
    return describe_run(run.results, run.plan.run_id)


def end(run: StoredRun) -> None:
    run.write_receipt(1, "cancelled", counts={"accepted": 1})


def test_a_leg_is_followed_to_its_end(steps: Steps, run: StoredRun) -> None:
    """Each heartbeat is shown as it was told; nothing is invented between two."""
    told = replace(NOTHING, counts={"accepted": 1})
    steps.at_step = {2: lambda: beat(run, accepted=1), 4: lambda: end(run)}

    seen = [shown.progress for shown in heartbeats_of(run.results, opened(run))]

    assert seen == [NOTHING, NOTHING, told, told]


def test_the_following_ends_with_the_process(steps: Steps, run: StoredRun, monkeypatch: pytest.MonkeyPatch) -> None:
    """On its own machine its death is known at once."""
    steps.at_step = {1: lambda: monkeypatch.setattr(Holder, "is_gone", True)}

    assert len(list(heartbeats_of(run.results, opened(run)))) == 1


def test_the_next_leg_is_followed_in_its_turn(steps: Steps, run: StoredRun) -> None:
    """A person follows the run; of one in partitions, each has a leg of its own."""
    steps.at_step = {1: lambda: [end(run), run.take()], 3: lambda: run.write_receipt(2, "complete")}

    seen = [[leg.leg for leg in shown.open_legs] for shown in heartbeats_of(run.results, opened(run))]

    assert seen == [[1], [2], [2]]


def test_a_silent_leg_is_waited_for_by_the_own_clock(
    steps: Steps, run: StoredRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another machine's clock may be wrong by hours: only half a minute without a new heartbeat shows a dead leg."""
    monkeypatch.setattr(OpenLeg, "is_alive", False)
    steps.at_step = {5: lambda: beat(run)}

    seen = list(heartbeats_of(run.results, opened(run)))

    assert not any(shown.active for shown in seen)
    assert steps.seconds == 42.0  # 10 to the new heartbeat, and more than 30 after it


def test_a_stop_waits_for_no_machine_that_is_gone(
    steps: Steps, run: StoredRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody tells of a container that was removed: half a minute without a sign of life does."""
    monkeypatch.setattr(OpenLeg, "is_alive", False)
    steps.at_step = {5: lambda: beat(run)}

    stopped = stop_run(run.results, run.plan.run_id, 60.0)

    assert (stopped.has_ended, stopped.is_silent, steps.seconds) == (False, True, 36.0)


def test_a_stop_waits_until_the_leg_has_ended(steps: Steps, run: StoredRun) -> None:
    """Then it says how; a second request asks nothing new."""
    assert not stop_run(run.results, run.plan.run_id, 0.0).has_ended
    steps.at_step = {3: lambda: end(run)}

    stopped = stop_run(run.results, run.plan.run_id, 60.0)

    assert (stopped.has_ended, steps.seconds) == (True, 3.0)
    assert (stopped.run.ended_by, stopped.run.active) == ("cancelled", ())
