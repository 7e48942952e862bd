"""The one task that does the work: a slice of a shard, uploaded and then verified."""

import threading
from typing import Any

from prefect import task
from prefect.client.schemas.objects import State

from proofsweep.bootstrap.legs import LegHandle
from proofsweep.bootstrap.worker_processes import work_on
from proofsweep.domain.runs import Slice
from proofsweep.errors import ProofsweepError
from proofsweep.logs import set_up_logs
from tasks.end_states import state_of_error
from tasks.key_block import read_block_anywhere

# Bounds the shards in this process's memory. Chosen: with 1 the workers idle at each shard's end, with 4 only the
# memory grows.
_SHARDS_AT_ONCE = 2

_shards = threading.BoundedSemaphore(_SHARDS_AT_ONCE)


@task(
    name="upload-then-verify",
    task_run_name="{title}",
    retries=0,  # the client retries; a second layer would multiply the calls
    persist_result=False,
)
def upload_then_verify(leg: LegHandle, piece: Slice, title: str) -> int | State[Any]:  # noqa: ARG001 - shown by Prefect
    """Verify one slice of a shard; give the number of rows that were finished."""
    set_up_logs()
    try:
        return _verify(leg, piece)
    except ProofsweepError as error:
        return state_of_error(error)


def _verify(leg: LegHandle, piece: Slice) -> int:
    """Verify a slice in its turn. Dask sends the task's own function with all that it names, and no semaphore."""
    plan, verify = work_on(leg, read_block_anywhere())
    if plan.is_small:
        return verify(piece)
    with _shards:
        return verify(piece)
