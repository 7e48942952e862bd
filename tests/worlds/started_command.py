"""A command in a process of its own, forked from a server that has imported what commands import: seconds each.

It has the arguments, the settings and the output of one that a person starts, and ends as one does.
"""

import atexit
import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from multiprocessing.context import ForkServerProcess
from pathlib import Path

_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(
    [
        "proofsweep_flows.verify_catalog",
        "proofsweep_cli.verify",
        "proofsweep_cli.status",
        "prefect_dask",
        "prefect.flow_engine",
        # What Prefect and Arrow import when a flow begins: a third of what a short command calculates.
        "anyio._backends._asyncio",
        "fastapi",
        "graphviz",
        "opentelemetry.metrics",
        "pandas",
        "pyarrow.dataset",
        "tests.faults.bare_runner",
        __name__,
    ]
)


class ForkedProcess:
    """A process that calls a function with the settings that hold now; it has the methods of Popen."""

    def __init__(self, function: Callable[..., None], *arguments: object) -> None:
        self._process = ForkServerProcess(target=_call, args=(dict(os.environ), function, arguments))
        self._process.start()
        atexit.register(self.kill)  # else the tests would wait at their end for one that a failed test left

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired("proofsweep", timeout or 0.0)
        return self._process.exitcode

    def send_signal(self, number: signal.Signals) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def _call(environment: dict[str, str], function: Callable[..., None], arguments: tuple[object, ...]) -> None:
    os.environ.clear()
    os.environ.update(environment)
    function(*arguments)


def run_command(arguments: list[str], log: Path, before: Callable[[], None] | None) -> None:
    """Be the command, after something else; this process has imported Prefect, whose settings are read again."""
    from prefect import context  # noqa: PLC0415 - it reads the environment on import, here that of the server's start

    from proofsweep_cli.app import main  # noqa: PLC0415 - so that tests that start no command need not import it

    context.GLOBAL_SETTINGS_CONTEXT = context.root_settings_context()
    with log.open("wb") as sink:
        for standard in (sys.stdout, sys.stderr):
            os.dup2(sink.fileno(), standard.fileno())
    sys.argv = ["proofsweep", *arguments]
    if before is not None:
        before()
    try:
        main()
    finally:
        atexit._run_exitfuncs()  # a forked process does not
