"""Plan and verify all objects of a bucket, without Prefect.

`bucket_copy` starts this as a child. To run it by hand: `python -m benchmarks.bucket_client URL`, with the settings of
a service and of the bucket in the environment.
"""

import sys

from proofsweep.app import App
from proofsweep.config.load import load_settings
from proofsweep.verify.worker import verify_batch


def main() -> None:
    """Verify URL."""
    plan = App(load_settings()).plan(sys.argv[1])
    with App(load_settings()).attempt(plan.run_id) as leg:
        for piece in leg.completed.batches():
            verify_batch(leg, piece)


if __name__ == "__main__":
    main()
