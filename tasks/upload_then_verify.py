"""The one task that does the work: a slice of a shard, uploaded and then verified."""

import threading
from typing import Any

from prefect import task
from prefect.client.schemas.objects import State

from proofsweep.bootstrap.legs import LegHandle, context_for
from proofsweep.domain.runs import Slice
from proofsweep.errors import ProofsweepError
from proofsweep.logs import set_up_logs
from proofsweep.usecases.leg.work import verify_slice
from tasks.end_states import state_of_error
from tasks.key_block import read_block

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
        context = context_for(leg, read_block)
        if context.plan.is_small:
            return verify_slice(context, piece)
        with _shards:
            return verify_slice(context, piece)
    except ProofsweepError as error:
        return state_of_error(error)
