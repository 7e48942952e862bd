"""The process of a flow run that was asked to stop ends soon, whatever Prefect waits for."""

import os
import threading

from proofsweep.domain.endings import EndedBy
from proofsweep_tasks.signal_thread import STOP_ASKED
from proofsweep_tasks.tell_alerts import is_deployed

_REPORT_SECONDS = 5.0  # how long it may tell Prefect of its end


def end_process_soon(seconds: float = 0.0) -> None:
    """End the process of a deployment's flow run that was asked to stop, in so many seconds, but not in less than five.

    At its exit, Prefect waits without end for a server that does not answer.
    """
    if STOP_ASKED.is_set() and is_deployed():
        timer = threading.Timer(max(seconds, _REPORT_SECONDS), os._exit, [EndedBy.INTERRUPTED.ending.exit_code])
        timer.daemon = True
        timer.start()
