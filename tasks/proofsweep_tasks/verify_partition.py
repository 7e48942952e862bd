"""The task that works on a partition of a run in a worker process: one whole leg."""

import socket
from pathlib import Path
from typing import Any

from prefect import task
from prefect.client.schemas.objects import State

from proofsweep import __version__
from proofsweep.app import App
from proofsweep.config.load import Settings
from proofsweep.domain.errors import ConfigError, ProofsweepError, ResultsError
from proofsweep.domain.runs import Bounds, Plan
from proofsweep.files.files import kind_of
from proofsweep.store.legs import Legs
from proofsweep.store.parts import Results
from proofsweep.verify.worker import verify_batch, work_last
from proofsweep_tasks.end_states import state_of_error
from proofsweep_tasks.key_block import blocks_anywhere


@task(name="verify-partition", task_run_name="partition {partition}", retries=0, persist_result=False)
def verify_partition(
    settings: Settings,
    run_id: str,
    partition: int,
    *,
    sharers: int,
    bounds: Bounds,
    flow_run_id: str | None,
    version: str,
) -> State[Any] | None:
    """Work on the next leg of a partition in this process; return the state of an error if none could be begun.

    Dask runs it again if the process is lost: then the partition's next leg goes on, but not with a bound of calls:
    all that the lost one was given counts as spent. The key is read here.
    """
    try:
        with App(settings, blocks_anywhere()) as app:
            plan = app.results.plan(run_id)
            refuse_other_world(plan, version)
            if bounds.max_calls is not None and _was_lost(app.results, plan, partition, flow_run_id):
                return None
            begun = app.attempt(run_id, partition=partition, sharers=sharers, bounds=bounds, flow_run_id=flow_run_id)
            with begun as leg:
                verify_batch(leg)
                work_last(leg)
    except (ConfigError, ResultsError) as error:
        # What is missing on one machine is there on another: a person must know on which one to look.
        message = f"{error.message} (in a worker process on {socket.gethostname()})"
        return state_of_error(type(error)(message))
    except ProofsweepError as error:
        return state_of_error(error)
    return None


def _was_lost(results: Results, plan: Plan, partition: int, flow_run_id: str | None) -> bool:
    """Whether another process has begun the partition for this flow run, and did not end its leg."""
    for leg in Legs(results, plan).open():
        is_own = plan.partition_of_leg(leg.leg) == partition
        if is_own and leg.holder.facts.get("flow_run_id") == flow_run_id:
            return True
    return False


def refuse_other_world(plan: Plan, version: str) -> None:
    """Refuse to work with another version, or where the catalog's folder is not mounted: its files would be missing."""
    if version != __version__:
        raise ConfigError(f"This is proofsweep {__version__}, but the run was begun by proofsweep {version}.")
    is_location_here = kind_of(plan.catalog).is_on_this_machine and "*" not in plan.catalog
    if is_location_here and not Path(plan.catalog).exists():
        where = "a folder must be mounted at the same place everywhere"
        raise ConfigError(f"The catalog {plan.catalog} is not there: {where}.")
