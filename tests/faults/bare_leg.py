"""Work on a leg without an orchestrator."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from proofsweep.errors import RunMustStop
from proofsweep.settings import load_settings
from proofsweep.verify.leg.leg_context import LegContext
from proofsweep.verify.leg.work import verify_slice, work_last
from proofsweep.wiring.engines import engine_for
from proofsweep.wiring.legs import claimed_next_leg


def work_on(context: LegContext, shards_at_once: int = 1) -> None:
    """Do what a flow does between the claim of a leg and its end."""
    with ThreadPoolExecutor(shards_at_once) as pool:
        list(pool.map(lambda piece: verify_slice(context, piece), context.remaining.slices()))
    work_last(context)


def work_on_leg(run_id: str) -> None:
    """Work on the next leg of a run."""
    leg = claimed_next_leg(engine_for(load_settings()), run_id)
    with suppress(RunMustStop), leg as (_, context):
        work_on(context)
