"""Map the work of one leg over Prefect's threads: a task for each batch of rows."""

from typing import Any

from prefect import task, unmapped
from prefect.client.schemas.objects import State
from prefect.utilities.annotations import quote

from proofsweep.domain.errors import ProofsweepError
from proofsweep.verify.leg import Leg
from proofsweep.verify.worker import verify_batch, work_last
from proofsweep_tasks.end_states import state_of_error


def fan_out(leg: Leg) -> None:
    """Run one task for each batch that remains, and wait for all; then try last what is in doubt.

    What a task raised is raised here.
    """
    futures = upload_then_verify.map(unmapped(quote(leg)), leg.completed.batches())  # quoted: handed on as it is
    futures.wait()
    futures.result()
    work_last(leg)


@task(
    name="upload-then-verify",
    task_run_name="rows {batch.start} to {batch.stop}",
    retries=0,  # the client retries; a second layer would multiply the calls
    persist_result=False,
)
def upload_then_verify(leg: Leg, batch: range) -> int | State[Any]:
    """Verify a batch; return how many rows it finished."""
    try:
        return verify_batch(leg, batch)
    except ProofsweepError as error:
        return state_of_error(error)
