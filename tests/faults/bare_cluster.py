"""A program for tests: works on one leg with several worker processes, without an orchestrator.

python bare_cluster.py RUN_ID PROCESSES [MAX_CALLS]

It stands for Dask: each process works on one slice at a time, and a slice whose process was killed is given to another
one. It prints the ID of each worker process. Its exit codes: 0 when the run is complete, 3 while rows remain.
"""

import multiprocessing
import os
import queue
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from multiprocessing.connection import Connection

from proofsweep.bootstrap.legs import held_leg
from proofsweep.bootstrap.runs import bounds_for
from proofsweep.bootstrap.stores import results_for
from proofsweep.bootstrap.worker_processes import work_on
from proofsweep.domain.runs import Slice
from proofsweep.errors import ProofsweepError, RunMustStop
from proofsweep.logs import set_up_logs
from proofsweep.reporting.describe_run import describe_run
from proofsweep.settings import load_settings
from proofsweep.usecases.leg.coordinator import coordinated
from proofsweep.usecases.leg.last_round import work_last

_ROWS_REMAIN = 3


def work(tasks: Connection) -> None:
    """Do what the process that holds the leg gives, until it ends."""
    set_up_logs()
    with suppress(EOFError):
        while True:
            handle, piece = tasks.recv()
            try:
                tasks.send(work_on(handle)[1](piece))
            except ProofsweepError as error:
                tasks.send(error)


def share(run_id: str, connections: Sequence[Connection], max_calls: int | None) -> None:
    """Hold one leg while the worker processes do its slices."""
    bounds = bounds_for(load_settings(), max_calls=max_calls)
    with held_leg(run_id, None, None, flow_run_id=None, read_block=None, bounds=bounds) as (alone, leg):
        handle = replace(alone, processes=len(connections))
        slices: queue.SimpleQueue[Slice] = queue.SimpleQueue()
        pieces = leg.remaining.slices()
        for piece in pieces:
            slices.put(piece)
        done = threading.Semaphore(0)

        def feed(tasks: Connection) -> None:
            while True:
                piece = slices.get()
                try:
                    tasks.send((handle, piece))
                    tasks.recv()
                except (EOFError, OSError):
                    slices.put(piece)
                    return
                done.release()

        with coordinated(leg):
            for connection in connections:
                threading.Thread(target=feed, args=(connection,), daemon=True).start()
            for _ in pieces:
                done.acquire()
        work_last(leg)


def main() -> int:
    """Start the worker processes before any thread, then hold the leg."""
    run_id, processes, *most = sys.argv[1:]
    connections = []
    for _ in range(int(processes)):
        ours, theirs = multiprocessing.Pipe()
        if (pid := os.fork()) == 0:
            for connection in [*connections, ours]:
                connection.close()
            work(theirs)
            os._exit(0)
        theirs.close()
        connections.append(ours)
        print(pid, flush=True)  # noqa: T201 - the test reads it
    set_up_logs()
    with suppress(RunMustStop):
        share(run_id, connections, int(most[0]) if most else None)
    return _ROWS_REMAIN if describe_run(results_for(load_settings()), run_id).remaining else 0


if __name__ == "__main__":
    sys.exit(main())
