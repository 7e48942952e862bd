"""Map the work over what remains of a run."""

from dataclasses import replace

from prefect import unmapped
from prefect.context import FlowRunContext
from prefect.futures import wait
from prefect.task_runners import ThreadPoolTaskRunner
from prefect.utilities.annotations import quote

from proofsweep.app import LegHandle
from proofsweep.verify.session import LegContext
from proofsweep.verify.worker import work_last
from proofsweep_tasks.dask_slices import work_on_cluster
from proofsweep_tasks.upload_then_verify import title_of, upload_then_verify
from proofsweep_tasks.worker_cluster import Runner


def fan_out(handle: LegHandle, leg: LegContext, runner: Runner | None = None) -> None:
    """Run one task for each slice that remains, and wait for all; then try last what is in doubt.

    What a task raised is raised here.

    The tasks run on the given task runner, or on the flow's own. Worker processes of a Dask cluster are given calls.
    """
    context = FlowRunContext.get()
    runner = runner or (ThreadPoolTaskRunner() if context is None else context.task_runner)
    client = getattr(runner, "client", None)  # only Dask's has one
    if client is not None:
        shared = replace(handle, processes=max(1, len(client.nthreads())))
        work_on_cluster(shared, leg, runner)
    else:
        pieces, here = leg.remaining.slices(), unmapped(quote(leg))  # quoted: Prefect hands it on as it is
        parameters = {"leg": here, "piece": pieces, "title": [title_of(leg, piece) for piece in pieces]}
        futures = runner.map(upload_then_verify, parameters)  # type: ignore[arg-type,misc]  # it may run any task
        wait(list(futures))
        for future in futures:
            future.result()
    work_last(leg)
