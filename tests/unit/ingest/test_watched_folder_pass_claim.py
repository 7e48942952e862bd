"""One pass over a watched folder at a time, ahead of sweeps with the same key."""

from datetime import UTC, datetime

import pytest

from proofsweep.errors import RunIsActive
from proofsweep.ingest.watched_folder import claimed_folder, yield_to_ingest
from proofsweep.model.runs import ClockReading
from proofsweep.partner.pacing.call_queue import CallQueue, ServiceHealth
from proofsweep.partner.pacing.dispatcher import Dispatcher
from proofsweep.partner.pacing.pacer import Pacer
from proofsweep.partner.stop import StopSwitch
from proofsweep.store.claims import LaneClaim
from proofsweep.store.lease import Lease
from proofsweep.store.plans_and_parts import Results

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)


@pytest.fixture
def lease(results: Results) -> Lease:
    """The lease of a folder."""
    return Lease(results, "watched", lambda: NOW)


def test_a_folder_is_watched_by_one_process(lease: Lease) -> None:
    """The next one comes when the first has ended."""
    with claimed_folder(lease) as first:
        with pytest.raises(RunIsActive, match="process"), claimed_folder(lease):
            pass
        assert first.number == 1
    with claimed_folder(lease) as second:
        assert second.number == 2


def test_sweeps_yield_while_the_work_lasts(lease: Lease, results: Results) -> None:
    """The claim on the lane ends with the work."""
    lane = LaneClaim(results.store, "0123456789ab")

    with claimed_folder(lease) as claim:
        with claim.ahead_of_sweeps(lane):
            assert lane.is_held(lease.now())
        assert not lane.is_held(lease.now())


def test_a_process_that_was_taken_over_begins_nothing(lease: Lease, results: Results) -> None:
    """It may only have slept: another one works on the folder now."""
    with claimed_folder(lease) as claim:
        lease.claim(2)

        with pytest.raises(RunIsActive), claim.ahead_of_sweeps(LaneClaim(results.store, "0123456789ab")):
            pass


def test_a_sweep_keeps_to_its_floor_rate_while_the_lane_is_claimed(results: Results) -> None:
    """Afterwards it goes on as before."""
    queue, lane = CallQueue(Pacer()), LaneClaim(results.store, "0123456789ab")
    dispatcher = Dispatcher(queue, ServiceHealth(), StopSwitch())

    now = ClockReading(NOW, 100.0, "boot")
    lane.renew(now)
    yield_to_ingest(lane, 0.5, dispatcher, now)
    assert queue.slot_gap_seconds == 4.0

    lane.release()
    yield_to_ingest(lane, 0.5, dispatcher, now)
    assert queue.slot_gap_seconds == 0.0
