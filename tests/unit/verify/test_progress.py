"""What a leg tells of its progress, and the rates that it goes by."""

from dataclasses import asdict, replace

import pytest

from proofsweep.client.scheduler import LaneStatus
from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import RunMustStop
from proofsweep.store.parts import Results
from proofsweep.store.progress import WaitsFor
from proofsweep.verify.session import LegContext, ProgressMeter, Speed

from ..conftest import LegBuilder
from ..left_behind import write_part


def told_by_a_worker(leg: LegContext, accepted: int, in_flight: int, lane: LaneStatus) -> None:
    leg.counters.take(
        {"rows": {"accepted": accepted}, "audio_bytes": 10, "calls": 2 * accepted, "cpu_seconds": 0.1}
        | {"writer": "w", "in_flight": in_flight, "lane": asdict(lane)}
    )


def test_earlier_legs_are_asked_only_once_the_work_has_begun(results: Results, new_leg: LegBuilder) -> None:
    """A leg that died may not be settled before: what its journal held would be verified again."""
    leg = new_leg.leg(new_leg.plan(6, shard_items=3), 2)
    before = leg.progress
    write_part(results, leg.plan, 1, 0, [1, 2])  # the dead leg is settled

    count = leg.remaining.count

    assert (before.finished_before, before.waits_for) == (None, WaitsFor.START)
    assert count == 4
    assert (leg.progress.finished_before, leg.progress.waits_for) == (2, None)


def test_what_worker_processes_do_is_in_it(new_leg: LegBuilder) -> None:
    """Their rows, calls, files in flight and uploads; a pause counts while all of them are paused."""
    leg = new_leg.leg(new_leg.plan(9))
    assert leg.remaining.count == 9

    told_by_a_worker(leg, 4, 3, LaneStatus(5.0, None, None, pause_seconds=60.0, uploads=2))
    told = leg.progress

    assert (told.done, told.calls, told.in_flight, told.uploads, told.lane_rate) == (4, 8, 3, 2, 5.0)
    assert told.waits_for is WaitsFor.PAUSE
    assert told.paused_until is not None
    assert (told.paused_until - leg.verify.clock()).total_seconds() == 60.0


def test_a_leg_says_first_what_is_most_in_the_way(new_leg: LegBuilder) -> None:
    """An outage before a pause, the request to stop before an outage, and the end before all."""
    leg = new_leg.leg(new_leg.plan(9))
    assert leg.remaining.count == 9
    lane = LaneStatus(5.0, None, None, pause_seconds=60.0, yields=True)

    seen = []
    told_by_a_worker(leg, 1, 1, replace(lane, pause_seconds=0.0))
    seen.append(leg.progress.waits_for)
    told_by_a_worker(leg, 1, 1, replace(lane, is_outage=True))
    seen.append(leg.progress.waits_for)
    leg.stop.pull(RunMustStop("It was asked to.", ended_by=EndedBy.CANCELLED))
    seen.append(leg.progress.waits_for)
    leg.heartbeat.is_settling = True
    seen.append(leg.progress.waits_for)

    assert seen == [WaitsFor.NEW_FILES, WaitsFor.OUTAGE, WaitsFor.STOP, WaitsFor.SETTLE]
    assert leg.progress.stops_because == "It was asked to."
    assert leg.progress.seconds_left is None


def test_the_rate_is_that_of_the_last_minute() -> None:
    """A slow start does not count for hours."""
    meter = ProgressMeter()

    for second in range(600):
        meter.take(float(second), 0, 0)
    for second in range(600, 661):
        meter.take(float(second), 2 * (second - 600), 5 * (second - 600))

    assert meter.speed == Speed(rows=2.0, calls=5.0)


def test_the_time_left_is_told_by_the_last_ten_minutes() -> None:
    """A pause of a minute does not make it endless."""
    meter = ProgressMeter()
    for second in range(601):
        meter.take(float(second), min(second, 540), 0)

    assert meter.speed == Speed(rows=0.0, calls=0.0)
    assert meter.seconds_left(90) == pytest.approx(100.0)


def test_a_leg_is_quiet_when_no_row_ends_for_a_while() -> None:
    """Before the first count nothing is known."""
    meter = ProgressMeter()
    assert not meter.is_quiet(1_000.0)

    meter.take(0.0, 0, 0)
    meter.take(5.0, 1, 2)
    meter.take(14.0, 1, 9)

    assert (meter.is_quiet(14.0), meter.is_quiet(15.0)) == (False, True)
