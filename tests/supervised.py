"""`python tests/supervised.py COMMAND ...`: run the tests so that nothing of them runs on, however they end.

Servers of a test have sessions of their own, and some run as another user. They all stay descendants of this
process: on Linux it adopts those whose parent has died. A signal to end is passed on, and what is left is killed.
"""

import ctypes
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36
# How long the tests may take to stop their servers themselves, and then the servers to end when they are asked.
STOP_SECONDS, END_SECONDS = 15.0, 5.0


def main(command: list[str]) -> int:
    """Run the command, end what it left, and return its exit code."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
    received: list[int] = []
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _frame: received.append(number))
    tests = subprocess.Popen(command)
    while tests.poll() is None and not received:
        with suppress(subprocess.TimeoutExpired):
            tests.wait(0.2)
    if received and received[0] != signal.SIGINT:  # the terminal sends Ctrl-C to them too
        tests.terminate()
    with suppress(subprocess.TimeoutExpired):
        tests.wait(STOP_SECONDS)
    end_all()
    return tests.returncode if tests.returncode is not None else 128 + signal.SIGTERM


def end_all() -> None:
    """End every descendant of this process: ask it, then kill it."""
    kill_at = time.monotonic() + END_SECONDS
    asked: set[int] = set()
    while pids := descendants(os.getpid()):
        for pid in pids:
            is_late = time.monotonic() > kill_at
            if is_late or pid not in asked:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL if is_late else signal.SIGTERM)
            asked.add(pid)
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        time.sleep(0.05)


def descendants(pid: int) -> list[int]:
    """Return the children of a process, their children and so on; empty where there is no /proc."""
    children = [int(child) for file in Path(f"/proc/{pid}/task").glob("*/children") for child in _read(file).split()]
    return [*children, *(each for child in children for each in descendants(child))]


def _read(file: Path) -> str:
    try:
        return file.read_text()
    except OSError:  # the process has ended
        return ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
