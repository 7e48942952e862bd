"""The one task that does the work: a slice of a shard, uploaded and then verified."""

from prefect import task

from proofsweep.bootstrap.legs import LegHandle, leg_for
from proofsweep.domain.runs import Slice
from proofsweep.logs import set_up_logs
from proofsweep.usecases.leg.work import verify_slice
from tasks.key_block import read_block


@task(
    name="upload-then-verify",
    task_run_name="shard {piece.shard} rows {piece.first} to {piece.last}",
    retries=0,  # retrying is the client's business, once
    persist_result=False,
)
def upload_then_verify(place: LegHandle, piece: Slice) -> int:
    """Verify one slice of a shard; `place` names config, results, run and leg. Gives the number of rows finished."""
    set_up_logs()
    return verify_slice(leg_for(place, read_block), piece)
