"""Map the work over what remains of a run."""

import posixpath
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

from prefect import unmapped
from prefect.futures import PrefectFuture, wait

from proofsweep.bootstrap.legs import LegHandle
from proofsweep.domain.items import WorkItem, proof_id_of
from proofsweep.domain.runs import Slice
from proofsweep.errors import RunMustStop
from proofsweep.printable import printable
from proofsweep.usecases.leg.coordinator import coordinated
from proofsweep.usecases.leg.last_round import work_last
from proofsweep.usecases.leg.leg_context import LegContext
from tasks.upload_then_verify import upload_then_verify
from tasks.worker_cluster import Runner, flow_runner, processes_of


def fan_out(handle: LegHandle, leg: LegContext, runner: Runner | None = None) -> None:
    """Run one task for each slice that remains, and wait for all; then try last what is in doubt.

    What a task raised is raised here.

    The tasks run on the given task runner, or on the flow's own. If it has worker processes, they are coordinated.
    """
    pieces = leg.remaining.slices()
    titles = [_title(leg, piece) for piece in pieces]
    runner = runner or flow_runner()
    processes = processes_of(runner)
    handle = replace(handle, processes=max(1, processes))
    with coordinated(leg) if processes else nullcontext():
        parameters = {"leg": unmapped(handle), "piece": pieces, "title": titles}
        futures = runner.map(upload_then_verify, parameters)  # type: ignore[arg-type,misc]  # it may run any task
        wait(list(futures))
    for future in futures:
        _take_result(future, leg)
    work_last(leg)


def _take_result(future: PrefectFuture[Any], leg: LegContext) -> None:
    """Raise what a task raised; end the leg for the reason of a worker process, and when the cluster lost the task."""
    try:
        future.result()
    except RunMustStop as reason:
        leg.stop.pull(reason)
    except Exception as error:
        if not type(error).__module__.startswith("distributed"):
            raise
        leg.stop.pull(RunMustStop(f"The Dask cluster has lost a task ({type(error).__name__}).", ended_by="error"))


def _title(leg: LegContext, piece: Slice) -> str:
    """Name a slice in Prefect: a single item by its file."""
    if not leg.plan.is_small:
        return f"shard {piece.shard} rows {piece.first} to {piece.last}"
    names = (_name_of(item) for item in leg.remaining.items(piece))
    return ", ".join(name for name in names if name) or f"row {piece.first}"


def _name_of(item: WorkItem) -> str:
    """Name an item by its file; one that is verified by its proof ID, which Prefect must not keep, by its item ID."""
    return printable(item.item_id if proof_id_of(item.audio) is not None else posixpath.basename(item.audio))
