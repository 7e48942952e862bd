"""Map the work over what remains of a run: on threads, or on the worker processes of a Dask cluster."""

import math
import threading
import time
from contextlib import suppress
from dataclasses import replace
from queue import Empty, SimpleQueue
from typing import Any

from prefect import unmapped
from prefect.context import FlowRunContext
from prefect.futures import wait
from prefect.task_runners import ThreadPoolTaskRunner
from prefect.utilities.annotations import quote

from proofsweep.app import LegHandle
from proofsweep.config.threads import background_thread
from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import RunMustStop
from proofsweep.verify.session import LegContext
from proofsweep.verify.worker import work_last
from proofsweep.verify.worker_process import GrantedSlice, SliceQueue
from proofsweep_tasks.upload_then_verify import title_of, upload_then_verify
from proofsweep_tasks.worker_cluster import UNREACHABLE, Runner, name_of

_SLICES_PER_THREAD = 2  # slices that the cluster has at once for each of its threads
_LATE_SECONDS = 30.0  # how long a stopped leg waits for worker processes of which none comes back
_STEP_SECONDS = 0.25  # how soon a request to stop is passed on


def fan_out(handle: LegHandle, leg: LegContext, runner: Runner | None = None) -> None:
    """Run one task for each batch that remains, and wait for all; then try last what is in doubt.

    What a task raised is raised here.

    The tasks run on the given task runner, or on the flow's own. Worker processes of a Dask cluster are given calls.
    """
    context = FlowRunContext.get()
    runner = runner or (ThreadPoolTaskRunner() if context is None else context.task_runner)
    client = getattr(runner, "client", None)  # only Dask's has one
    if client is not None:
        shared = replace(handle, processes=max(1, len(client.nthreads())))
        _work_on_cluster(shared, leg, runner)
    else:
        batches, here = leg.completed.batches(), unmapped(quote(leg))  # quoted: Prefect hands it on as it is
        parameters = {"leg": here, "batch": batches, "title": [title_of(leg, rows) for rows in batches]}
        futures = runner.map(upload_then_verify, parameters)  # type: ignore[arg-type,misc]  # it may run any task
        wait(list(futures))
        for future in futures:
            future.result()
    work_last(leg)


def _work_on_cluster(handle: LegHandle, leg: LegContext, runner: Runner) -> None:
    """Run a task for each batch that remains, and raise what one raised; what is left of a slice is given again."""
    from dask.distributed import Event  # noqa: PLC0415 - an optional part

    client: Any = runner.client  # type: ignore[attr-defined]  # only Dask's has one, and Dask has no types
    queue, running, ended = SliceQueue(leg, leg.completed.batches()), dict[Any, GrantedSlice](), SimpleQueue[Any]()
    over: Any = Event(name_of(handle), client)  # type: ignore[no-untyped-call]
    client.subscribe_topic(name_of(handle), lambda event: leg.counters.take(event[1]))

    def pass_on(is_done: threading.Event) -> None:
        while leg.stop.reason is None and not is_done.wait(_STEP_SECONDS):
            pass
        with suppress(*UNREACHABLE):
            over.set()

    with background_thread("stop", pass_on, leg.stop.pull):
        try:
            while True:
                slots = _SLICES_PER_THREAD * max(1, sum(client.nthreads().values()))
                while len(running) < slots and (granted := queue.grant(slots)) is not None:
                    parameters = {"leg": handle, "batch": granted, "title": title_of(leg, granted.rows)}
                    future: Any = runner.submit(upload_then_verify, parameters)
                    running[future] = granted
                    future.wrapped_future.add_done_callback(lambda _done, future=future: ended.put(future))
                if not running or (future := _next_of(ended, leg)) is None:
                    client.cancel([future.wrapped_future for future in running])
                    break
                granted = running.pop(future)
                queue.take(granted, future.result())
        except Exception as error:
            is_ours = not (isinstance(error, OSError) or type(error).__module__.startswith("distributed"))
            why = "A task of the Dask cluster failed" if is_ours else "The Dask cluster, or one of its tasks, was lost"
            reason = RunMustStop(f"{why} ({type(error).__name__}).", ended_by=EndedBy.ERROR)
            leg.stop.pull(error if isinstance(error, RunMustStop) else reason)
            while running and (future := _next_of(ended, leg)) is not None:
                del running[future]
            if is_ours and not isinstance(error, RunMustStop):
                raise


def _next_of(ended: SimpleQueue[Any], leg: LegContext) -> Any:  # noqa: ANN401 - Dask has no types
    """Wait for a task that has ended; None if the leg must stop and none ends in time."""
    late_at = math.inf
    while time.monotonic() < late_at:
        if leg.stop.reason is not None:
            late_at = min(late_at, time.monotonic() + _LATE_SECONDS)
        with suppress(Empty):
            return ended.get(timeout=_STEP_SECONDS)
    return None
