"""Verify one slice of a shard, and leave a whole shard's part behind."""

from concurrent.futures import as_completed
from contextlib import suppress
from operator import itemgetter

from proofsweep.domain.runs import Slice
from proofsweep.domain.tables.columns import Row
from proofsweep.errors import ResultsError, RunMustStop
from proofsweep.logs import Event, log
from proofsweep.usecases.leg.context import LegContext


def verify_slice(desk: LegContext, piece: Slice) -> int:
    """Work through what remains of a slice; give the number of rows it finished.

    (1) read what remains, (2) verify on the worker threads, (3) publish if the shard is done. A shard that ends early
    and one that is cut into single items publish nothing: their rows are in the journal until the leg's end.

    Raises:
        NameTaken: another leg has taken this one over.
    """
    items = desk.remaining(piece)  # (1)
    futures = [desk.workers.submit(desk.work, item) for item in items]  # (2)
    try:
        rows = [row for future in as_completed(futures) if (row := future.result()) is not None]
    except Exception:
        desk.stop.pull(RunMustStop("A worker failed through a mistake of this program.", ended_by="error"))
        raise
    if rows and len(rows) == len(items) and not desk.plan.is_small:
        with suppress(ResultsError):  # a store that fails for a while: the rows are published at the leg's end
            _publish(desk, piece.shard, rows)  # (3)
    return len(rows)


def _publish(desk: LegContext, shard: int, rows: list[Row]) -> None:
    rows.sort(key=itemgetter("manifest_row"))
    part = desk.results.create_part(desk.part_name(shard), "verdicts", rows)
    log(Event.SHARD_PUBLISHED, run_id=desk.plan.run_id, leg=desk.leg, shard=shard, rows=part.rows)
