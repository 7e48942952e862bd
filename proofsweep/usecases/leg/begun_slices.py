"""Which slices of a leg its worker processes have begun: what a lost one wrote down is not done again."""

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow.compute as pc

from proofsweep.domain import layout
from proofsweep.domain.runs import Slice
from proofsweep.domain.tables.columns import Row
from proofsweep.domain.worker_slices import GrantedSlice
from proofsweep.errors import NameTaken
from proofsweep.storage.results.journal import Segments
from proofsweep.usecases.leg.leg_context import LegContext


@dataclass(frozen=True, slots=True)
class BegunSlice:
    """What is known of a slice when it begins.

    Attributes:
        finished: rows of it that are in the journal of this leg.
        is_published: its shard has a part of this leg, so nothing is left to do.
        lost_by: the process that had begun this very attempt: Dask runs its task again.
    """

    finished: Sequence[Row] = ()
    is_published: bool = False
    lost_by: str | None = None


def begin_slice(leg: LegContext, granted: GrantedSlice) -> BegunSlice:
    """Note that a slice is begun. If an earlier attempt was, give what is finished of it.

    Raises:
        ResultsError: the store cannot be used.
    """
    store, run_id, piece = leg.results.store, leg.plan.run_id, granted.piece
    names = [
        layout.begun_name(run_id, leg.leg, piece.shard, piece.first, attempt) for attempt in range(granted.attempt + 1)
    ]
    try:
        store.create(names[-1], leg.journal.writer.encode())
    except NameTaken:
        return BegunSlice(lost_by=(store.read(names[-1]) or b"").decode())
    if not granted.attempt:
        return BegunSlice()
    if store.read(layout.verdicts_name(run_id, leg.plan.run_date, piece.shard, leg.leg)) is not None:
        return BegunSlice(is_published=True)
    leg.journal.flush()
    return BegunSlice(_finished_rows(leg, piece, {(store.read(name) or b"").decode() for name in names}))


def _finished_rows(leg: LegContext, piece: Slice, writers: set[str]) -> list[Row]:
    """Read the rows of a slice in the journals of these processes, each row once."""
    segments = Segments(leg.results, leg.plan.run_id, leg.leg)
    first = piece.shard * leg.plan.shard_items
    is_mine = (pc.field("manifest_row") >= first + piece.first) & (pc.field("manifest_row") < first + piece.last)
    rows: dict[int, Row] = {}
    for name in segments.names("verdicts"):
        table = segments.table(name) if any(f"-{writer}-" in name for writer in writers) else None
        for row in [] if table is None else table.filter(is_mine).to_pylist():
            rows.setdefault(row["manifest_row"], row)
    return list(rows.values())
