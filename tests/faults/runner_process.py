"""A process of a program here: it works on runs without an orchestrator, with a child process for each job."""

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent


@dataclass(slots=True)
class RunnerProcess:
    """The running program; it does one job at a time."""

    process: "subprocess.Popen[str]"

    def begin(self, job: str) -> int:
        """Start a job; give the process ID of its child process."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{job}\n")
        self.process.stdin.flush()
        return self.exit_code()

    def exit_code(self) -> int:
        """Wait for the end of the job that was started; give its exit code."""
        assert self.process.stdout is not None
        return int(self.process.stdout.readline())

    def do(self, job: str) -> int:
        """Do a job; give its exit code."""
        self.begin(job)
        return self.exit_code()

    def end(self) -> None:
        """Kill the program."""
        self.process.kill()
        self.process.communicate()


NewRunner = Callable[[], RunnerProcess]
"""Starts the program with the settings that hold at that moment."""


def start_runner(program: str = "bare_runner.py") -> RunnerProcess:
    """Start a program of this folder with the settings that hold now."""
    pipe, silent = subprocess.PIPE, subprocess.DEVNULL
    command = [sys.executable, str(HERE / program)]
    return RunnerProcess(subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=silent, text=True))
