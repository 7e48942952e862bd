"""One pass over a watched folder at a time, ahead of sweeps with the same key."""

import time
from datetime import UTC, datetime

import pytest

from proofsweep.client.pacing.call_queue import CallQueue
from proofsweep.client.pacing.dispatcher import Dispatcher
from proofsweep.client.pacing.pacer import Pacer
from proofsweep.client.pacing.service_health import ServiceHealth
from proofsweep.client.stop import StopSwitch
from proofsweep.domain.runs import ClockReading
from proofsweep.errors import RunIsActive
from proofsweep.storage.results.lane_claims import LaneClaim
from proofsweep.storage.results.legs import Legs
from proofsweep.storage.results.plans_and_parts import Results
from proofsweep.usecases.ingest.pass_claim import claimed_folder, yield_to_ingest

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)


@pytest.fixture
def claims(results: Results) -> Legs:
    """The claims on a folder."""
    return Legs(results, "watched", lambda: NOW)


def test_a_folder_is_watched_by_one_process(claims: Legs) -> None:
    """The next one comes when the first has ended."""
    with claimed_folder(claims, lambda: NOW) as first:
        with pytest.raises(RunIsActive, match="process"), claimed_folder(claims, lambda: NOW):
            pass
        assert first.number == 1
    with claimed_folder(claims, lambda: NOW) as second:
        assert second.number == 2


def test_sweeps_yield_while_the_work_lasts(claims: Legs, results: Results) -> None:
    """The claim on the lane ends with the work."""
    lane = LaneClaim(results.store, "0123456789ab")

    def is_held() -> bool:

        return lane.is_held(ClockReading(NOW, time.monotonic()))

    with claimed_folder(claims, lambda: NOW) as claim:
        with claim.ahead_of_sweeps(lane):
            assert is_held()
        assert not is_held()


def test_a_process_that_was_taken_over_begins_nothing(claims: Legs, results: Results) -> None:
    """It may only have slept: another one works on the folder now."""
    with claimed_folder(claims, lambda: NOW) as claim:
        claims.claim(2)

        with pytest.raises(RunIsActive), claim.ahead_of_sweeps(LaneClaim(results.store, "0123456789ab")):
            pass


def test_a_sweep_keeps_to_its_floor_rate_while_the_lane_is_claimed(results: Results) -> None:
    """Afterwards it goes on as before."""
    queue, lane = CallQueue(Pacer()), LaneClaim(results.store, "0123456789ab")
    dispatcher = Dispatcher(queue, ServiceHealth(), StopSwitch())

    lane.renew(ClockReading(NOW, time.monotonic()))
    yield_to_ingest(lane, 0.5, dispatcher, lambda: NOW)
    assert queue.slot_gap_seconds == 4.0

    lane.release()
    yield_to_ingest(lane, 0.5, dispatcher, lambda: NOW)
    assert queue.slot_gap_seconds == 0.0
