"""Measure how processes with one key share a lane in real time: all of them together, new files first, one killed.

Run from the checkout: `python -m benchmarks.lane_of_processes [--rate 20] [--burst 20] [--seconds 120] [--processes 4]
[--story steady|ingest|killed] [--alone]`. Each process is `benchmarks.lane_process`; they meet in one results store.
With `--alone` each has a store of its own. The sandbox's own record is counted. In the stories, something happens at
half of the time: new files come and are verified by another process, or one process is killed.
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path

import proofsweep_sandbox as sandbox
from benchmarks.lane_in_real_time import SentCall, configure, own_calls

# The search for the rate, and the start of the programs, are not counted.
_SINCE_SECONDS = 20.0
# After what happens, figures are given over windows of so many seconds, until so long after it.
_WINDOW_SECONDS, _AFTER_SECONDS = 5, 30
# Chosen: enough for the seconds that are looked at.
_INGEST_FILES = 300


@dataclass(kw_only=True)
class Processes:
    """The processes of one trial.

    Attributes:
        is_alone: whether each has a results store of its own, and keeps its lane to itself.
    """

    folder: Path
    is_alone: bool
    running: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(self, *command: str, **variables: str) -> subprocess.Popen[bytes]:
        """Start a command of the product."""
        own = self.folder / f"process-{len(self.running)}"
        own.mkdir()
        given = {"PROOFSWEEP_RESULTS__URL": str((own if self.is_alone else self.folder) / "results"), **variables}
        with (own / "printed").open("w") as printed:
            process = subprocess.Popen(
                [sys.executable, "-m", "benchmarks.lane_process", *command],
                stdout=printed,
                stderr=printed,
                env=os.environ | given,
            )
        self.running.append(process)
        return process

    def end(self) -> None:
        """Kill those that are left."""
        for process in self.running:
            process.kill()
            process.wait()


def main() -> None:
    """Run the processes, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=float, default=20.0)
    parser.add_argument("--burst", type=float, default=20.0)
    parser.add_argument("--seconds", type=int, default=120)
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--story", choices=("steady", "ingest", "killed"), default="steady")
    parser.add_argument("--alone", action="store_true", help="let no process know of the others")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, sandbox.launch(Path(name) / "sandbox") as running:
        folder = Path(name)
        tenant = configure(folder, running, round(chosen.rate * chosen.seconds))
        running.operator.set_lane(chosen.rate, chosen.burst)
        processes = Processes(folder=folder, is_alone=chosen.alone)
        try:
            happened_at = play(processes, chosen.story, chosen.processes, chosen.seconds)
        finally:
            processes.end()
        calls = [each for each in running.operator.exchanges() if each["tenant"] == tenant and each["origin"] == "api"]
        of_ingest: list[SentCall] = []
        if chosen.story == "ingest" and happened_at is not None:
            own = folder / f"process-{chosen.processes - 1}" if chosen.alone else folder
            of_ingest = own_calls(own / "results", f"{datetime.fromtimestamp(happened_at, UTC):%Y%m%dT%H%M%SZ}")
    report([SentCall(each["at"], each["status"]) for each in calls], chosen.rate, happened_at, of_ingest)


def report(calls: Sequence[SentCall], rate: float, happened_at: float | None, of_ingest: Sequence[SentCall]) -> None:
    """Print goodput and refused calls of all, and what came after the event."""
    first, last = min(call.at for call in calls) + _SINCE_SECONDS, max(call.at for call in calls) - 1
    print("| from the 20th second on | goodput | 429s |\n|---|---|---|")
    print(f"| all processes | {let_in(calls, first, last) / rate:.3f} | {refused(calls, first, last):.2%} |")
    if happened_at is None:
        return
    counted, since = (of_ingest, min(call.at for call in of_ingest)) if of_ingest else (calls, happened_at)
    print("| seconds after it | " + ("the new files' part" if of_ingest else "goodput of the others") + " |\n|---|---|")
    for second in range(0, _AFTER_SECONDS, _WINDOW_SECONDS):
        rate_then = let_in(counted, since + second, since + second + _WINDOW_SECONDS)
        print(f"| {second} to {second + _WINDOW_SECONDS} | {rate_then / rate:.2f} |")


def let_in(calls: Sequence[SentCall], first: float, last: float) -> float:
    """Return calls per second that were let in between two times."""
    return sum(first <= call.at < last and call.status != HTTPStatus.TOO_MANY_REQUESTS for call in calls) / (
        last - first
    )


def refused(calls: Sequence[SentCall], first: float, last: float) -> float:
    """Return the part of the calls between two times that was refused."""
    counted = [call for call in calls if first <= call.at < last]
    return sum(call.status == HTTPStatus.TOO_MANY_REQUESTS for call in counted) / max(1, len(counted))


def play(processes: Processes, story: str, count: int, seconds: int) -> float | None:
    """Let the processes work for so long; return the time at which something happened, if it did."""
    for number in range(count - (story == "ingest")):
        catalog = processes.folder / f"catalog-{number}.csv"
        shutil.copy(processes.folder / "catalog.csv", catalog)
        processes.start("verify", str(catalog))
    time.sleep(seconds / 2)
    happened_at = None if story == "steady" else time.time()
    if story == "killed":
        processes.running[0].send_signal(signal.SIGKILL)
    elif story == "ingest":
        drops = deliver(processes.folder)
        processes.start("ingest", str(drops), PROOFSWEEP_INGEST__SETTLE_SECONDS="0")
    time.sleep(seconds / 2)
    if story == "ingest":
        processes.running[-1].wait()
    return happened_at


def deliver(folder: Path) -> Path:
    """Put new files into a folder, and return it."""
    drops = folder / "drops"
    drops.mkdir()
    sent = [path for path in sorted((folder / "catalog").rglob("*.wav")) if path.stat().st_size]
    for number in range(_INGEST_FILES):
        shutil.copy(sent[number % len(sent)], drops / f"{number:04}.wav")
    return drops


if __name__ == "__main__":
    main()
