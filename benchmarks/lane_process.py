"""Work as one process of several with one key, without Prefect, so that the lane alone is measured.

`lane_of_processes` starts this as a child: `python -m benchmarks.lane_process verify|ingest LOCATION`, with the
settings of a service in the environment.
"""

import sys
from contextlib import suppress

from proofsweep.app import App
from proofsweep.config.load import load_settings
from proofsweep.domain.errors import RunMustStop
from proofsweep.verify.worker import verify_batch, work_last


def main() -> None:
    """Verify a catalog, or make one pass over a folder with new files."""
    kind, location = sys.argv[1:]
    if kind == "verify":
        verify(App(load_settings()).plan(location).run_id)
        return
    with App(load_settings()).watched_folder(location) as watched:
        for run_id in watched.one_pass().runs():
            verify(run_id)


def verify(run_id: str) -> None:
    """Work on one leg of a run."""
    leg = App(load_settings()).attempt(run_id)
    with suppress(RunMustStop), leg as context:
        for piece in context.completed.batches():
            verify_batch(context, piece)
        work_last(context)


if __name__ == "__main__":
    main()
