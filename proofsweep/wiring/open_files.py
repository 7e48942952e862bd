"""How many files this process may open, and how many workers can work beside each other with them."""

import resource
import sys
from contextlib import suppress

from proofsweep.logs import Event, log

# What one worker holds open at most: its connections to the API, to the storage and for a download, and the audio.
# Measured: 3 for each with local files, no download and 20 workers.
_FILES_OF_A_WORKER = 4
# All else: journal, Prefect, DuckDB, wakeups. Measured: 27 with one worker. Chosen: twice that, and some for a cluster.
_FILES_OF_THE_PROCESS = 64


def workers_that_fit(wanted: int, open_files: int) -> int:
    """Return how many of the wanted workers have room for all that they open; at least one."""
    return max(1, min(wanted, (open_files - _FILES_OF_THE_PROCESS) // _FILES_OF_A_WORKER))


def most_open_files() -> int:
    """Raise the limit of open files as far as the system allows without a privilege, and return it."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):  # macOS names a limit that it does not accept
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return sys.maxsize if soft == resource.RLIM_INFINITY else soft


def say_if_fewer(wanted: int, workers: int) -> None:
    """Say in the log and on stderr that fewer workers work than are set; a command mutes the log."""
    if workers < wanted:
        log(Event.WORKERS_LOWERED, pace_workers=wanted, workers=workers)
        sys.stderr.write(
            f"proofsweep: pace.workers is {workers}, not {wanted}: no more files can be open (ulimit -n)\n"
        )
