"""The one task that does the work: a slice of a shard, uploaded and then verified."""

import threading
from contextlib import nullcontext
from functools import partial
from typing import Any

from prefect import task
from prefect.client.schemas.objects import State

from proofsweep.bootstrap.legs import LegHandle, leg_held_here
from proofsweep.bootstrap.worker_processes import verify_granted
from proofsweep.domain.runs import Slice
from proofsweep.domain.worker_slices import GrantedSlice, SliceResult
from proofsweep.errors import ConfigError, ProofsweepError
from proofsweep.logs import set_up_logs
from proofsweep.usecases.leg.work import verify_slice
from tasks.dask_link import DaskLink
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
def upload_then_verify(
    leg: LegHandle,
    piece: Slice | GrantedSlice,
    title: str,  # noqa: ARG001 - shown by Prefect
) -> int | SliceResult | State[Any]:
    """Verify one slice of a shard; give the number of rows that were finished, or what a worker process says of it."""
    set_up_logs()
    try:
        return _verify_granted(leg, piece) if isinstance(piece, GrantedSlice) else _verify(leg, piece)
    except ProofsweepError as error:
        return state_of_error(error)


def _verify(handle: LegHandle, piece: Slice) -> int:
    leg = leg_held_here(handle)
    if leg is None:
        raise ConfigError("Worker processes must be those of a Dask cluster.")
    with nullcontext() if leg.plan.is_small else _shards:
        return verify_slice(leg, piece)


def _verify_granted(leg: LegHandle, granted: GrantedSlice) -> SliceResult:
    """Verify a slice in its turn. Dask sends the task's own function with all that it names, and no semaphore."""
    with _shards:
        return verify_granted(leg, granted, partial(DaskLink, leg), read_block_anywhere())
