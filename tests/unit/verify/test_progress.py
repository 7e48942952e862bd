"""What a leg counts and tells of its progress, and the rates that it goes by."""

from dataclasses import replace
from datetime import timedelta

import pytest

from proofsweep.client.scheduler import Dispatcher, LaneStatus
from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import RunMustStop
from proofsweep.store.journal import CompletedRows
from proofsweep.store.lease import LegProgress, together
from proofsweep.store.parts import Results
from proofsweep.verify.leg import ProgressMeter

from ..conftest import LegBuilder
from ..left_behind import write_part
from ..scripted_service import NOW


def test_earlier_legs_are_asked_only_once_the_work_has_begun(results: Results, new_leg: LegBuilder) -> None:
    """A leg that died may not be settled before: what its journal held would be verified again."""
    plan = new_leg.plan(6, batch_items=3)
    leg = new_leg.leg(plan, 2)
    leg.completed = CompletedRows(results, plan)
    before = leg.progress
    write_part(results, leg.plan, 1, 0, [1, 2])  # the dead leg is settled

    leg.completed.read()

    assert before.finished_before is None
    assert leg.completed.remaining == 4
    assert (leg.progress.finished_before, leg.progress.waiting) == (2, "")


def test_a_leg_says_first_what_is_most_in_the_way(new_leg: LegBuilder, monkeypatch: pytest.MonkeyPatch) -> None:
    """An outage before a pause, and the request to stop before an outage."""
    leg = new_leg.leg(new_leg.plan(9))
    assert leg.completed.remaining == 9

    lanes = iter([*({"pause_seconds": 60.0, "is_outage": outage} for outage in (False, True)), {}])
    monkeypatch.setattr(Dispatcher, "status", lambda _: LaneStatus(5.0, **next(lanes)))
    seen = [leg.progress.waiting for _ in range(2)]
    leg.stop.pull(RunMustStop("It was asked to.", ended_by=EndedBy.CANCELLED))
    seen.append(leg.progress.waiting)

    assert seen == [
        f"the service asked for a pause until {NOW + timedelta(minutes=1):%H:%M:%S} UTC",
        "the service or the files seem to be away, so only a check is sent now and then",
        "stopping, 0 files in flight: It was asked to.",
    ]


def test_the_rate_is_that_of_the_last_minute() -> None:
    """A slow start does not count for hours; before a second count nothing is known."""
    meter = ProgressMeter()
    first = meter.rate(0.0, 0)

    for second in range(1, 600):
        meter.rate(float(second), 0)
    rates = [meter.rate(float(second), 2 * (second - 600)) for second in range(600, 661)]

    assert (first, rates[-1]) == (None, 2.0)


def test_a_run_is_as_far_as_its_legs_together() -> None:
    """A lane is shared, so each knows the whole of it. A run waits for what all of its legs wait for."""
    told = LegProgress(rows=50, finished_before=10, counts={"accepted": 3}, rate=2.0, calls=6, lane_rate=9.0)
    paused = replace(told, quota_left=70, waiting="a pause", seconds_left=30.0)

    both = together(100, 20, [told, paused])

    assert (both.rows, both.finished, both.rate, both.calls, both.lane_rate) == (100, 26, 4.0, 12, 9.0)
    assert (both.quota_left, both.seconds_left, both.waiting) == (70, 30.0, "")
    assert together(100, 20, [paused, paused]).waiting == "a pause"
