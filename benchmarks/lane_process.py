"""Work as one process of several with one key, without Prefect, so that the lane alone is measured.

`lane_of_processes` starts this as a child: `python -m benchmarks.lane_process verify|ingest LOCATION`, with the
settings of a service in the environment.
"""

import sys
from contextlib import suppress

from proofsweep.config.load import load_settings
from proofsweep.domain.errors import RunMustStop
from proofsweep.verify.worker import verify_slice, work_last
from proofsweep.wiring.engines import engine_for
from proofsweep.wiring.legs import claimed_next_leg
from proofsweep.wiring.runs import plan_catalog
from proofsweep.wiring.watching import watched_folder


def main() -> None:
    """Verify a catalog, or make one pass over a folder with new files."""
    kind, location = sys.argv[1:]
    if kind == "verify":
        verify(plan_catalog(load_settings(), location).run_id)
        return
    with watched_folder(load_settings(), location, None) as watched:
        for run_id in watched.one_pass().runs():
            verify(run_id)


def verify(run_id: str) -> None:
    """Work on one leg of a run."""
    leg = claimed_next_leg(engine_for(load_settings()), run_id)
    with suppress(RunMustStop), leg as (_, context):
        for piece in context.remaining.slices():
            verify_slice(context, piece)
        work_last(context)


if __name__ == "__main__":
    main()
