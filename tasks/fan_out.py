"""Map the work over what remains of a run."""

import posixpath
from dataclasses import replace

from prefect import unmapped
from prefect.context import FlowRunContext
from prefect.futures import wait
from prefect.task_runners import ThreadPoolTaskRunner
from prefect.utilities.annotations import quote

from proofsweep.model.items import WorkItem, proof_id_of
from proofsweep.model.runs import Slice
from proofsweep.text import printable
from proofsweep.verify.leg.leg_context import LegContext
from proofsweep.verify.leg.work import work_last
from proofsweep.wiring.legs import LegHandle
from tasks.dask_slices import work_on_cluster
from tasks.upload_then_verify import upload_then_verify
from tasks.worker_cluster import Runner


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
        work_on_cluster(shared, leg, runner, lambda piece: _title(leg, piece))
    else:
        pieces, here = leg.remaining.slices(), unmapped(quote(leg))  # quoted: Prefect hands it on as it is
        parameters = {"leg": here, "piece": pieces, "title": [_title(leg, piece) for piece in pieces]}
        futures = runner.map(upload_then_verify, parameters)  # type: ignore[arg-type,misc]  # it may run any task
        wait(list(futures))
        for future in futures:
            future.result()
    work_last(leg)


def _title(leg: LegContext, piece: Slice) -> str:
    """Name a slice in Prefect: a single item by its file."""
    if not leg.plan.is_small:
        return f"shard {piece.shard} rows {piece.first} to {piece.last}"
    names = (_name_of(item) for item in leg.remaining.items(piece))
    return ", ".join(name for name in names if name) or f"row {piece.first}"


def _name_of(item: WorkItem) -> str:
    """Name an item by its file; one that is verified by its proof ID, which Prefect must not keep, by its item ID."""
    return printable(item.item_id if proof_id_of(item.audio) is not None else posixpath.basename(item.audio))
