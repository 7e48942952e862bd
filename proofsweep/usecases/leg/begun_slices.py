"""Which slices of a leg its worker processes have begun: what a lost one wrote down is not done again."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import pyarrow.compute as pc

from proofsweep.domain import layout
from proofsweep.domain.runs import Slice
from proofsweep.domain.tables.columns import Row
from proofsweep.errors import NameTaken
from proofsweep.storage.results.journal import Segments
from proofsweep.usecases.leg.leg_context import LegContext


@dataclass(frozen=True, slots=True)
class BegunSlice:
    """What is known of a slice when it begins.

    Attributes:
        finished: rows of it that are in the journal of this leg.
        is_published: its shard has a part of this leg, so nothing is left to do.
    """

    finished: Sequence[Row] = ()
    is_published: bool = False


def begin_slice(leg: LegContext, piece: Slice) -> BegunSlice:
    """Note that a slice is begun. If it was begun before, its task is done again: give what is finished of it.

    Raises:
        ResultsError: the store cannot be used.
    """
    store, run_id = leg.results.store, leg.plan.run_id
    with suppress(NameTaken):
        store.create(layout.begun_name(run_id, leg.leg, piece.shard, piece.first), leg.journal.writer.encode())
        return BegunSlice()
    part = layout.verdicts_name(run_id, leg.plan.run_date, piece.shard, leg.leg)
    if store.read(part) is not None:
        return BegunSlice(is_published=True)
    leg.journal.flush()
    return BegunSlice(_finished_rows(leg, piece))


def _finished_rows(leg: LegContext, piece: Slice) -> list[Row]:
    """Read the rows of a slice in the journal, of all processes, each row once."""
    segments = Segments(leg.results, leg.plan.run_id, leg.leg)
    first = piece.shard * leg.plan.shard_items
    is_mine = (pc.field("manifest_row") >= first + piece.first) & (pc.field("manifest_row") < first + piece.last)
    rows: dict[int, Row] = {}
    for name in segments.names("verdicts"):
        table = segments.table(name)
        for row in [] if table is None else table.filter(is_mine).to_pylist():
            rows.setdefault(row["manifest_row"], row)
    return list(rows.values())
