"""Map the work over what remains of a run."""

import posixpath

from prefect import unmapped
from prefect.futures import wait

from proofsweep.bootstrap.legs import LegHandle
from proofsweep.domain.runs import Slice
from proofsweep.printable import printable
from proofsweep.usecases.leg.leg_context import LegContext
from tasks.upload_then_verify import upload_then_verify


def fan_out(handle: LegHandle, leg: LegContext) -> None:
    """Run one task for each slice that remains, on the flow's task runner; raise here what a task raised."""
    pieces = leg.remaining.slices()
    titles = [_title(leg, piece) for piece in pieces]
    futures = upload_then_verify.map(unmapped(handle), pieces, titles)
    wait(list(futures))
    for future in futures:
        future.result()


def _title(leg: LegContext, piece: Slice) -> str:
    """Name a slice in Prefect: a single item by its file."""
    if not leg.plan.is_small:
        return f"shard {piece.shard} rows {piece.first} to {piece.last}"
    names = (posixpath.basename(printable(item.audio)) for item in leg.remaining.items(piece))
    return ", ".join(name for name in names if name) or f"row {piece.first}"
