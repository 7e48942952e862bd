"""Run a worker whose end waits for its flow runs: `python -m proofsweep_tasks.drained_worker PROGRAM [ARGUMENT …]`.

A worker of Prefect ends within two seconds of SIGTERM and does not wait for its flow runs. Then the container ends, or
the systemd unit, and the flow runs die in the middle of a call; Prefect shows them as Running. This parent passes
SIGTERM to the flow runs first, waits until each has ended, and only then asks the worker to end.
"""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

# How often the flow runs are looked for. Chosen: a person who stops the worker does not notice it.
_LOOK_SECONDS = 0.1


def main() -> int:
    """Run the program until it ends or SIGTERM asks for that; give its exit code, as a shell would."""
    worker = subprocess.Popen(sys.argv[1:])  # noqa: S603 - the person's own command
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _ask_once)
    try:
        code = worker.wait()
    except _StopAsked:
        _let_flow_runs_end(worker.pid)
        worker.terminate()
        code = worker.wait()
    return code if code >= 0 else 128 - code


class _StopAsked(BaseException):
    """Somebody asks the worker to end."""


def _ask_once(_number: int, _frame: object) -> None:
    """Raise; later signals change nothing, as the flow runs are on their way to their end."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda _number, _frame: None)
    raise _StopAsked


def _let_flow_runs_end(worker: int) -> None:
    """Send SIGTERM once to each flow run, also to one that the worker starts meanwhile, and wait for the last one."""
    asked: set[int] = set()
    while running := _flow_runs_of(worker):
        for process in running - asked:
            if _catches_sigterm(process):  # before that, it would die without telling Prefect
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGTERM)
                asked.add(process)
        time.sleep(_LOOK_SECONDS)


def _flow_runs_of(worker: int) -> set[int]:
    """Return the processes that the worker has started and that have not ended."""
    found: set[int] = set()
    for children in Path(f"/proc/{worker}/task").glob("*/children"):
        with suppress(OSError):  # the thread is gone
            found |= {int(number) for number in children.read_text().split()}
    return {process for process in found if _status_of(process).get("State", "Z")[0] != "Z"}


def _catches_sigterm(process: int) -> bool:
    return bool(int(_status_of(process).get("SigCgt", "0"), 16) & 1 << (signal.SIGTERM - 1))


def _status_of(process: int) -> dict[str, str]:
    """Read what the kernel says of a process; nothing, if there is none."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return {}
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


if __name__ == "__main__":
    sys.exit(main())
