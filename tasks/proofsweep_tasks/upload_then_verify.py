"""The one task that does the work: a batch of planned items, uploaded and then verified."""

import posixpath
import threading
from contextlib import nullcontext
from typing import Any

from prefect import task
from prefect.client.schemas.objects import State

from proofsweep.app import LegHandle, verify_granted
from proofsweep.domain.errors import ConfigError, ProofsweepError
from proofsweep.domain.items import proof_id_of
from proofsweep.domain.text import printable
from proofsweep.verify.session import LegContext
from proofsweep.verify.worker import verify_batch
from proofsweep.verify.worker_process import BATCHES_AT_ONCE, GrantedSlice, SliceResult
from proofsweep_tasks.end_states import state_of_error
from proofsweep_tasks.key_block import blocks_anywhere
from proofsweep_tasks.worker_cluster import worker_link

_batches = threading.BoundedSemaphore(BATCHES_AT_ONCE)


@task(
    name="upload-then-verify",
    task_run_name="{title}",
    retries=0,  # the client retries; a second layer would multiply the calls
    persist_result=False,
)
def upload_then_verify(
    leg: LegContext | LegHandle,
    batch: range | GrantedSlice,
    title: str,  # noqa: ARG001 - shown by Prefect
) -> int | SliceResult | State[Any]:
    """Verify one batch of planned items.

    A thread is given the leg itself, and returns the number of rows that it finished. A worker process is given the
    leg's handle and a batch with its calls, and returns what became of it.
    """
    try:
        if isinstance(leg, LegContext) and isinstance(batch, range):
            return _verify(leg, batch)
        if isinstance(leg, LegHandle) and isinstance(batch, GrantedSlice):
            return verify_granted(leg, batch, lambda: worker_link(leg), blocks_anywhere())
        raise ConfigError("Worker processes must be those of a Dask cluster.")
    except ProofsweepError as error:
        return state_of_error(error)


def _verify(leg: LegContext, rows: range) -> int:
    """Verify a batch in its turn. Dask sends the task's own function with all that it names, and no semaphore."""
    with nullcontext() if leg.plan.is_small else _batches:
        return verify_batch(leg, rows)


def title_of(leg: LegContext, rows: range) -> str:
    """Name a batch in Prefect: single items by their files, or by item ID where Prefect must not keep a proof ID."""
    if not leg.plan.is_small:
        return f"rows {rows.start} to {rows.stop}"
    items = leg.completed.items(rows)
    names = (each.item_id if proof_id_of(each.audio) is not None else posixpath.basename(each.audio) for each in items)
    return ", ".join(printable(name) for name in names if name) or f"row {rows.start}"
