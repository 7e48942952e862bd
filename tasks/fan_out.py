"""Map the work over what remains of a run."""

import posixpath
from dataclasses import replace

from prefect import unmapped
from prefect.futures import wait

from proofsweep.bootstrap.legs import LegHandle
from proofsweep.domain.items import WorkItem, proof_id_of
from proofsweep.domain.runs import Slice
from proofsweep.printable import printable
from proofsweep.usecases.leg.last_round import work_last
from proofsweep.usecases.leg.leg_context import LegContext
from tasks.dask_slices import work_on_cluster
from tasks.upload_then_verify import upload_then_verify
from tasks.worker_cluster import Runner, flow_runner, processes_of


def fan_out(handle: LegHandle, leg: LegContext, runner: Runner | None = None) -> None:
    """Run one task for each slice that remains, and wait for all; then try last what is in doubt.

    What a task raised is raised here.

    The tasks run on the given task runner, or on the flow's own. Worker processes of a Dask cluster are given calls.
    """
    pieces = leg.remaining.slices()
    runner = runner or flow_runner()
    processes = processes_of(runner)
    if processes:
        work_on_cluster(replace(handle, processes=processes), leg, runner, lambda piece: _title(leg, piece))
    else:
        parameters = {"leg": unmapped(handle), "piece": pieces, "title": [_title(leg, piece) for piece in pieces]}
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
