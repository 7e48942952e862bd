"""What each worker process of a cluster on this machine does first."""

import signal


def dask_setup(_worker: object) -> None:
    """Leave Ctrl-C and SIGTERM to the flow's process, which gives the files in flight their time.

    A terminal sends Ctrl-C to all processes of a command, and systemd sends SIGTERM to all processes of a unit.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
