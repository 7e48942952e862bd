"""Plan and verify all objects of a bucket, without Prefect.

`bucket_copy` starts this as a child. To run it by hand: `python -m benchmarks.bucket_client URL`, with the settings of
a service and of the bucket in the environment.
"""

import sys

from proofsweep.config.load import load_settings
from proofsweep.verify.worker import verify_slice
from proofsweep.wiring.engines import engine_for
from proofsweep.wiring.legs import claimed_next_leg
from proofsweep.wiring.runs import plan_catalog


def main() -> None:
    """Verify URL."""
    plan = plan_catalog(load_settings(), sys.argv[1])
    with claimed_next_leg(engine_for(load_settings()), plan.run_id) as (_, leg):
        for piece in leg.remaining.slices():
            verify_slice(leg, piece)


if __name__ == "__main__":
    main()
