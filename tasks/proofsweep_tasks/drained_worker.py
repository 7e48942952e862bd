"""Run a worker whose end waits for its flow runs: `python -m proofsweep_tasks.drained_worker PROGRAM [ARGUMENT …]`.

A worker of Prefect ends within two seconds of SIGTERM, and with it the container or the unit; the flow runs die in the
middle of a call, and Prefect shows them as Running. This parent passes SIGTERM to the flow runs, waits until each has
ended, and only then ends the worker. A worker without flow runs has only log lines and events to send. At its
exit it waits for minutes for a server that does not answer, so it is killed soon.
"""

import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

_LOOK_SECONDS = 0.1
_EMPTY_LOOKS = 2  # in a row: in one, a flow run could be missed while processes come and go
_END_SECONDS = 2.5


def main() -> int:
    """Run the program until it ends or a signal asks for that; give its exit code, as a shell would."""
    worker = subprocess.Popen(sys.argv[1:])  # noqa: S603 - the person's own command
    signals: list[int] = []
    asked = set[int]()  # processes that were sent SIGTERM
    before: set[int] | None = None  # that run when the request came
    empty_looks = 0
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, _frame: signals.append(number))
    while worker.poll() is None:
        time.sleep(_LOOK_SECONDS)
        if not signals:
            continue
        running = flow_runs_of(worker.pid)
        if before is None:
            before = set(running)
        empty_looks += 1
        if running:
            empty_looks = 0
        if empty_looks == _EMPTY_LOOKS:
            return _ended(worker)
        for process, catches_sigterm in running.items():
            # One that catches none yet would die without telling Prefect; one that begins only now need not begin.
            if process not in asked and (catches_sigterm or process not in before):
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGTERM)
                asked.add(process)
    return _code_of(worker.wait())


def _code_of(code: int) -> int:
    # A process that a signal has killed has its negative number here, and 128 more than it in a shell.
    if code < 0:
        return 128 - code
    return code


def _ended(worker: "subprocess.Popen[bytes]") -> int:
    worker.terminate()
    try:
        return _code_of(worker.wait(_END_SECONDS))
    except subprocess.TimeoutExpired:
        worker.kill()
        worker.wait()
        return 0  # as it was asked


def flow_runs_of(worker: int, processes: Path = Path("/proc")) -> dict[int, bool]:
    """Return the processes that the worker has started and that have not ended, and whether each catches SIGTERM."""
    running: dict[int, bool] = {}
    for children in processes.glob(f"{worker}/task/*/children"):
        for process in map(int, _text_of(children).split()):
            status = _text_of(processes / f"{process}/status")
            # A zombie (Z) has ended. The mask of the signals that a process catches has a bit for each, from 1 on.
            caught = re.search(r"^State:\s+[^Z].*^SigCgt:\s+(\w+)", status, re.MULTILINE | re.DOTALL)
            if caught is not None:
                mask = int(caught[1], 16)
                running[process] = bool(mask & 1 << (signal.SIGTERM - 1))
    return running


def _text_of(file: Path) -> str:
    with suppress(OSError):  # the thread or the process is gone
        return file.read_text()
    return ""


if __name__ == "__main__":
    sys.exit(main())
