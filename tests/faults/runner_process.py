"""A process of a program here: it works on runs without an orchestrator, with a child process for each job.

Such a program imports everything first, which takes longer than most jobs: it serves one test after another.
"""

import json
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

PRELOADED = "LD_PRELOAD"
"""What changes a program at its start, and not with the variables of a job: such a program is another one."""


@dataclass(slots=True)
class RunnerProcess:
    """The running program, and the settings of one test's jobs; it does one job at a time."""

    program: str
    process: "subprocess.Popen[str]"
    environment: dict[str, str]
    is_at_work: bool = False

    def begin(self, job: str) -> int:
        """Start a job; give the process ID of its child process."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{json.dumps([self.environment, job])}\n")
        self.process.stdin.flush()
        self.is_at_work = True
        return self._answer()

    def exit_code(self) -> int:
        """Wait for the end of the job that was started; give its exit code."""
        code = self._answer()
        self.is_at_work = False
        return code

    def do(self, job: str) -> int:
        self.begin(job)
        return self.exit_code()

    def _answer(self) -> int:
        assert self.process.stdout is not None
        return int(self.process.stdout.readline())


NewRunner = Callable[..., RunnerProcess]
"""Gives a program that is at no work, by default `bare_runner`, with the settings that hold at that moment."""


@dataclass(slots=True)
class Runners:
    """The programs that wait for another test."""

    idle: dict[tuple[str, str | None], list["subprocess.Popen[str]"]] = field(default_factory=lambda: defaultdict(list))

    @contextmanager
    def for_a_test(self) -> Iterator[NewRunner]:
        """Lend programs to one test; one that is still at work after it is killed."""
        lent: list[RunnerProcess] = []

        def new_runner(program: str = "bare_runner") -> RunnerProcess:
            idle = self.idle[program, os.environ.get(PRELOADED)]
            lent.append(RunnerProcess(program, idle.pop() if idle else _start(program), dict(os.environ)))
            return lent[-1]

        yield new_runner
        for runner in lent:
            if runner.is_at_work:
                _end(runner.process)
            else:
                self.idle[runner.program, runner.environment.get(PRELOADED)].append(runner.process)

    def end(self) -> None:
        for process in (process for idle in self.idle.values() for process in idle):
            _end(process)


def _start(program: str) -> "subprocess.Popen[str]":
    pipe, silent = subprocess.PIPE, subprocess.DEVNULL
    process = subprocess.Popen(
        [sys.executable, "-m", f"tests.faults.{program}"], stdin=pipe, stdout=pipe, stderr=silent, text=True
    )
    assert process.stdout is not None
    process.stdout.readline()
    return process


def _end(process: "subprocess.Popen[str]") -> None:
    process.kill()
    process.communicate()
