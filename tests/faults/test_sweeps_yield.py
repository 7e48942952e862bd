"""A sweep yields to new deliveries that are verified with the same key."""

import threading
import time

import pytest

from proofsweep.model import runs
from proofsweep.settings import load_settings
from proofsweep.store.legs import Legs
from proofsweep.store.plans_and_parts import Results
from proofsweep.verify.leg.work import verify_slice
from proofsweep.wiring.engines import engine_for
from proofsweep.wiring.legs import claimed_next_leg
from proofsweep.wiring.runs import plan_catalog
from proofsweep.wiring.watching import lane_claim

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
    """Within a heartbeat it begins one file a second, which is two calls; then it is as fast as before."""
    monkeypatch.setenv("PROOFSWEEP_PACE__FLOOR_RATE", str(FLOOR_RATE))
    monkeypatch.setenv("PROOFSWEEP_PACE__FIRST_RATE", "60")
    monkeypatch.setattr(runs, "HEARTBEAT_SECONDS", 1)
    for call in ("uploads", "verify"):
        bare_world.service.changes[call] = answer_after(0.05)
    settings = load_settings()
    plan = plan_catalog(settings, bare_world.catalog(*["valid"] * FILES))
    lane, clock = lane_claim(settings, None), Legs(Results(lane_claim(settings, None).store), "clock")
    sweep = threading.Thread(target=_work_on, args=(plan.run_id,))
    sweep.start()
    bare_world.wait_for(lambda: bare_world.service.received["uploads"] > 20)

    before = files_in(bare_world, OBSERVED_SECONDS)
    lane.renew(clock.now())
    time.sleep(2.5)
    during = files_in(bare_world, OBSERVED_SECONDS)
    lane.release()
    time.sleep(2.5)
    after = files_in(bare_world, OBSERVED_SECONDS)
    bare_world.service.close()
    sweep.join()

    print(f"files per second: {before:.1f} before, {during:.1f} during, {after:.1f} after")  # noqa: T201 - for the report
    assert 0 < during <= FLOOR_RATE / 2 + 0.5
    assert min(before, after) > 5 * during


def _work_on(run_id: str) -> None:
    leg = claimed_next_leg(engine_for(load_settings()), run_id)
    with leg as (_, context):
        for piece in context.remaining.slices():
            verify_slice(context, piece)
