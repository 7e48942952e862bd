"""The one task that does the work: a slice of a shard, uploaded and then verified."""

from prefect import task

from proofsweep.bootstrap.legs import LegHandle, context_for
from proofsweep.domain.runs import Slice
from proofsweep.logs import set_up_logs
from proofsweep.usecases.leg.work import verify_slice
from tasks.key_block import read_block


@task(
    name="upload-then-verify",
    task_run_name="shard {piece.shard} rows {piece.first} to {piece.last}",
    retries=0,  # the client retries; a second layer would multiply the calls
    persist_result=False,
)
def upload_then_verify(leg: LegHandle, piece: Slice) -> int:
    """Verify one slice of a shard; give the number of rows that were finished."""
    set_up_logs()
    return verify_slice(context_for(leg, read_block), piece)
