"""What each worker process of a cluster on this machine does first."""

import signal

from proofsweep_tasks.working_folder import without_files_of_the_folder


def dask_setup(_worker: object) -> None:
    """Leave Ctrl-C and SIGTERM to the flow's process, which gives the files in flight their time.

    Prefect, which the first task imports, reads no settings from the working folder.

    A terminal sends Ctrl-C to all processes of a command, and systemd sends SIGTERM to all processes of a unit.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    without_files_of_the_folder()
