"""Work on the partitions of a run, each by a leg: one after the other here, or each in a worker process of Dask."""

import threading
from collections.abc import Sequence
from contextlib import suppress
from importlib.util import find_spec
from typing import Any

from proofsweep import __version__
from proofsweep.app import App
from proofsweep.config.notices import say
from proofsweep.config.threads import StopSwitch, background_thread, utc_now
from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import ProofsweepError, ResultsError, RunMustStop
from proofsweep.domain.runs import Bounds, Plan, left_of
from proofsweep.store.legs import Legs, ask_to_stop
from proofsweep.store.parts import Results
from proofsweep.verify.attempt import recover_last_legs, unfinished_partitions
from proofsweep_tasks.fan_out import fan_out
from proofsweep_tasks.stop_on_signals import stopped_on_signals
from proofsweep_tasks.verify_partition import verify_partition
from proofsweep_tasks.worker_cluster import started_cluster

_LEAST_CALLS = 100  # of a leg that shares a bound of calls with others: fewer are not worth its own probes
_STEP_SECONDS = 0.5  # how soon a request to stop is passed on


def work_on(app: App, plan: Plan, bounds: Bounds, *, flow_run_id: str | None) -> None:
    """Work on the partitions that are not finished, and raise what went wrong before a leg began.

    The bounds are of all legs together. A run of several partitions has a worker process of Dask for each.
    """
    partitions = [0]
    if plan.partitions > 1:
        recover_last_legs(app.results, plan, utc_now)
        partitions = unfinished_partitions(app.results, plan)
        has_dask = app.settings.dask.address is not None or find_spec("prefect_dask") is not None
        if partitions and has_dask:
            # Few calls are not worth the own probes of many legs.
            if bounds.max_calls is not None:
                most = bounds.max_calls // _LEAST_CALLS
                partitions = partitions[: max(1, most)]
            _work_elsewhere(app, plan, partitions, bounds, flow_run_id=flow_run_id)
            return
        if partitions:
            say("without the extra `dask`, one process works on the partitions in turn.")
    _work_in_turn(app, plan, partitions, bounds, flow_run_id=flow_run_id)


def _work_in_turn(app: App, plan: Plan, partitions: Sequence[int], bounds: Bounds, *, flow_run_id: str | None) -> None:
    left: Bounds | None = bounds
    for partition in partitions:
        if left is None:
            return
        begun = app.attempt(plan.run_id, partition=partition, bounds=left, flow_run_id=flow_run_id)
        with stopped_on_signals(app), begun as leg:
            fan_out(leg)
        # An outage may be over for the next partition. Whatever else stopped the leg would stop that too.
        stopped = leg.stop.reason
        if stopped is not None and stopped.ended_by != EndedBy.BREAKER:
            return
        left = left_of(left, leg.budget.spent, utc_now())


def _work_elsewhere(
    app: App, plan: Plan, partitions: Sequence[int], bounds: Bounds, *, flow_run_id: str | None
) -> None:
    sharers = len(partitions)
    settings = app.settings.anywhere(app.store.url, sharers)
    stop = app.service.stop
    shared: dict[str, object] = {"settings": settings, "run_id": plan.run_id, "version": __version__}
    shared |= {"sharers": sharers, "bounds": bounds, "flow_run_id": flow_run_id}
    app.run_elsewhere = plan.run_id
    try:
        with stopped_on_signals(app), started_cluster(settings.dask.address, sharers) as runner:
            stop.check()
            with background_thread("stop", lambda over: _pass_stop_on(stop, app.results, plan, over)):
                futures: list[Any] = []
                for partition in partitions:
                    future = runner.submit(verify_partition, {**shared, "partition": partition})
                    futures.append(future)
                # All are waited for before one's error is raised: the others work on.
                errors = list(map(_error_of, futures))
    finally:
        app.run_elsewhere = None
        if stop.reason is not None:
            app.close()
    for error in errors:
        if error is not None:
            raise error


def _pass_stop_on(stop: StopSwitch, results: Results, plan: Plan, over: threading.Event) -> None:
    """Ask each leg that is open to stop, once this process was asked to; also those that begin then."""
    while not over.wait(_STEP_SECONDS):
        if stop.reason is not None:
            with suppress(ResultsError):
                for leg in Legs(results, plan).shown():
                    ask_to_stop(results.store, leg, utc_now(), stop.reason)


def _error_of(future: Any) -> Exception | None:  # noqa: ANN401 - Dask has no types
    """Wait for a task, and return why its partition could not be worked on."""
    try:
        future.result()
    except ProofsweepError as error:
        return error
    except Exception as error:  # noqa: BLE001 - of many libraries
        why = "A task of the Dask cluster failed"
        if isinstance(error, OSError) or type(error).__module__.startswith(("distributed", "concurrent")):
            why = "The Dask cluster, or one of its tasks, was lost"
        return RunMustStop(f"{why} ({type(error).__name__}).", ended_by=EndedBy.ERROR)
    return None
