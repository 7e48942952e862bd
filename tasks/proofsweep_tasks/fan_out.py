"""Map the work of one leg over Prefect's threads: a task for each file of a small run, else one for each batch."""

import posixpath
import threading
from contextlib import nullcontext
from typing import Any

from prefect import task, unmapped
from prefect.client.schemas.objects import State
from prefect.utilities.annotations import quote

from proofsweep.domain.errors import ProofsweepError
from proofsweep.domain.items import proof_id_of
from proofsweep.domain.text import printable
from proofsweep.verify.leg import Leg
from proofsweep.verify.worker import verify_batch, work_last
from proofsweep_tasks.end_states import state_of_error

_BATCHES_AT_ONCE = 2  # the second one begins before the last files of the first one end
_batches = threading.BoundedSemaphore(_BATCHES_AT_ONCE)


def fan_out(leg: Leg) -> None:
    """Run one task for each batch that remains, and wait for all; then try last what is in doubt.

    What a task raised is raised here.
    """
    batches = leg.completed.batches()
    titles = [title_of(leg, rows) for rows in batches]
    futures = upload_then_verify.map(unmapped(quote(leg)), batches, titles)  # quoted: Prefect hands it on as it is
    futures.wait()
    futures.result()
    work_last(leg)


@task(
    name="upload-then-verify",
    task_run_name="{title}",
    retries=0,  # the client retries; a second layer would multiply the calls
    persist_result=False,
)
def upload_then_verify(
    leg: Leg,
    batch: range,
    title: str,  # noqa: ARG001 - shown by Prefect
) -> int | State[Any]:
    """Verify a batch, or one file of a small run; return how many rows it finished."""
    try:
        with nullcontext() if leg.plan.is_small else _batches:
            return verify_batch(leg, batch)
    except ProofsweepError as error:
        return state_of_error(error)


def title_of(leg: Leg, rows: range) -> str:
    """Name a batch in Prefect: single items by their files, or by item ID where Prefect must not keep a proof ID."""
    if not leg.plan.is_small:
        return f"rows {rows.start} to {rows.stop}"
    names: list[str] = []
    for item in leg.completed.items(rows):
        is_of_proof = proof_id_of(item.audio) is not None
        name = item.item_id if is_of_proof else posixpath.basename(item.audio)
        if name:
            names.append(printable(name))
    return ", ".join(names) or f"row {rows.start}"
