"""Give slices to the worker processes of a Dask cluster until nothing waits, or the leg must stop."""

import math
import time
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any

from prefect.futures import PrefectFuture

from proofsweep.bootstrap.legs import LegHandle
from proofsweep.domain.runs import Slice
from proofsweep.domain.worker_slices import GrantedSlice, ProcessCounts, SliceResult
from proofsweep.errors import RunMustStop
from proofsweep.usecases.leg.leg_context import LegContext
from proofsweep.usecases.leg.slice_queue import SliceQueue
from tasks.dask_link import linked
from tasks.upload_then_verify import upload_then_verify
from tasks.worker_cluster import Runner

# Slices that the cluster has at once for each of its threads. Chosen: with one, threads wait, and a cluster that grows
# sees no need; with four, more of them hold calls that others could use.
_SLICES_PER_THREAD = 2
# How long a stopped leg waits for worker processes of which none comes back. Chosen: half may cut off files in flight,
# which have twelve seconds; twice keeps a person waiting for a machine that is gone.
_LATE_SECONDS = 30.0
# How soon a stop is seen; twice is felt by a person, half only wakes the thread more often.
_CHECK_SECONDS = 0.5


def work_on_cluster(handle: LegHandle, leg: LegContext, runner: Runner, title_of: Callable[[Slice], str]) -> None:
    """Run a task for each slice that remains, and raise what one raised; what is left of a slice is given again."""
    client: Any = runner.client  # type: ignore[attr-defined]  # only Dask's has one, and Dask has no types
    queue, running, ended = SliceQueue(leg), dict[Any, GrantedSlice](), SimpleQueue[Any]()
    queue.put(leg.remaining.slices())
    with linked(handle, leg, client, queue):
        try:
            while True:
                slots = _SLICES_PER_THREAD * max(1, sum(client.nthreads().values()))
                while len(running) < slots and (granted := queue.grant(slots)) is not None:
                    parameters = {"leg": handle, "piece": granted, "title": title_of(granted.piece)}
                    future: Any = runner.submit(upload_then_verify, parameters)
                    running[future] = granted
                    future.wrapped_future.add_done_callback(lambda _done, future=future: ended.put(future))
                if not running or (future := _next_of(ended, leg)) is None:
                    client.cancel([future.wrapped_future for future in running])
                    break
                queue.take(running.pop(future), _result_of(future))
        except OSError as error:
            leg.stop.pull(RunMustStop(f"The Dask cluster was lost ({type(error).__name__}).", ended_by="error"))
        except BaseException:
            leg.stop.pull(RunMustStop("A task of the Dask cluster failed.", ended_by="error"))
            while running and (future := _next_of(ended, leg)) is not None:
                del running[future]
            raise


def _next_of(ended: SimpleQueue[Any], leg: LegContext) -> Any:  # noqa: ANN401 - it is a Dask task's
    """Wait for a task that has ended; None if the leg must stop and none ends in time."""
    late_at = math.inf
    while time.monotonic() < late_at:
        with suppress(Empty):
            return ended.get(timeout=_CHECK_SECONDS)
        late_at = min(late_at, time.monotonic() + _LATE_SECONDS) if leg.stop.reason is not None else late_at
    return None


def _result_of(future: PrefectFuture[SliceResult]) -> SliceResult:
    """Give what became of a slice; raise what its task raised. A task that the cluster has lost ends the leg."""
    try:
        return future.result()
    except RunMustStop as reason:
        stop = reason
    except Exception as error:
        if not type(error).__module__.startswith("distributed"):
            raise
        stop = RunMustStop(f"The Dask cluster has lost a task ({type(error).__name__}).", ended_by="error")
    return SliceResult(counts=ProcessCounts(writer=""), stop=stop)
