"""A sweep yields to new deliveries that are verified with the same key."""

import threading
import time
from dataclasses import replace
from itertools import count

import pytest

from proofsweep.background import background_thread
from proofsweep.model import layout
from proofsweep.model.lane import LanePriority, Member, TokenBucket
from proofsweep.settings import load_settings
from proofsweep.store.lanes import LaneObject
from proofsweep.store.store import open_store
from proofsweep.verify.leg.work import verify_slice
from proofsweep.wiring.engines import engine_for
from proofsweep.wiring.legs import claimed_next_leg
from proofsweep.wiring.runs import plan_catalog

from ..servers.foreign_service import answer_after
from ..worlds.foreign_world import ForeignWorld

FILES = 1_500
OBSERVED_SECONDS = 4.0
FLOOR_RATE = 2.0


def files_in(world: ForeignWorld, seconds: float) -> float:
    """Count the files per second that the sweep begins."""
    before = world.service.received["uploads"]
    time.sleep(seconds)
    return (world.service.received["uploads"] - before) / seconds


@pytest.mark.timeout(300)
def test_a_sweep_goes_on_at_its_floor_rate_until_the_claim_ends(
    bare_world: ForeignWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It begins one file a second, which is two calls, when its slots in hand are used; then it is fast again."""
    monkeypatch.setattr("proofsweep.wiring.lanes.FLOOR_CALLS_PER_SECOND", FLOOR_RATE)
    monkeypatch.setenv("PROOFSWEEP_PACE__FIRST_RATE", "60")
    for call in ("uploads", "verify"):
        bare_world.service.changes[call] = answer_after(0.05)
    settings = load_settings()
    plan = plan_catalog(settings, bare_world.catalog(*["valid"] * FILES))
    folder = layout.lane_folder(engine_for(settings).key_fingerprint, settings.service.base_url)
    sweep = threading.Thread(target=_work_on, args=(plan.run_id,))
    sweep.start()
    bare_world.wait_for(lambda: bare_world.service.received["uploads"] > 20)

    before = files_in(bare_world, OBSERVED_SECONDS)
    with background_thread("pass", lambda over: go_first(LaneObject(open_store(settings.results.url), folder), over)):
        time.sleep(12.0)  # until the slots in hand are used
        during = files_in(bare_world, OBSERVED_SECONDS)
    time.sleep(4.0)
    after = files_in(bare_world, OBSERVED_SECONDS)
    bare_world.service.close()
    sweep.join()

    print(f"files per second: {before:.1f} before, {during:.1f} during, {after:.1f} after")  # noqa: T201 - for the report
    assert 0 < during <= FLOOR_RATE / 2 + 0.5
    assert min(before, after) > 5 * during


def go_first(told: LaneObject, over: threading.Event) -> None:
    """Be a pass over new files that can use all of a lane, and leave it."""
    beats = count(1)
    while not over.wait(1.0):
        lane = told.latest()
        own = Member(priority=LanePriority.INGEST, rate=58.0, beat=next(beats))
        told.tell(replace(lane, bucket=TokenBucket(60.0, 60.0), keeper="pass", members={**lane.members, "pass": own}))
    lane = told.latest()
    told.tell(replace(lane, keeper="", members={name: each for name, each in lane.members.items() if name != "pass"}))


def _work_on(run_id: str) -> None:
    leg = claimed_next_leg(engine_for(load_settings()), run_id)
    with leg as (_, context):
        for piece in context.remaining.slices():
            verify_slice(context, piece)
