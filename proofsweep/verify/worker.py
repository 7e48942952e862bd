"""Work through one slice of a shard after the other, on threads; what is in doubt is tried last."""

from collections import deque
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, wait
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import islice

import pyarrow as pa

from proofsweep.config.logs import Event, log
from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import ResultsError, RunMustStop
from proofsweep.domain.items import Row, WorkItem
from proofsweep.domain.outcomes import Deferred
from proofsweep.domain.runs import Slice
from proofsweep.store import layout
from proofsweep.store.journal import Segments
from proofsweep.store.latest import Latest
from proofsweep.store.rows import row_of
from proofsweep.store.schemas import SCHEMAS
from proofsweep.verify.budget import calls_of
from proofsweep.verify.commit import PublishedRows
from proofsweep.verify.item import verify_item
from proofsweep.verify.session import LegContext

# How soon an item begins after the results store is well again; twice as long costs that much once in an outage.
_STORE_CHECK_SECONDS = 0.2
_ITEMS_AT_ONCE = 1_000  # items whose rows are kept as they come, some 10 KB each, before they are packed


def verify_slice(leg: LegContext, piece: Slice, written: Sequence[int] = b"") -> int:
    """Work through what remains of a slice; return the number of rows it finished.

    (1) read what remains, less what was in doubt before, (2) verify on the worker threads, (3) publish if the shard is
    done. A shard that ends early and one that is cut into single items publish nothing: their rows are in the journal
    until the leg's end. `written` is `rows_written`, if another process of this leg may have finished some rows.

    Raises:
        NameTaken: another leg has taken this one over, or another process of this leg has published the shard.
    """
    later = leg.in_doubt_before & set(leg.remaining.rows(piece))
    items = (item for item in leg.remaining.items(piece) if item.manifest_row not in later)  # (1)
    if written:
        items = (item for item in items if not written[item.manifest_row])
    rows = [SCHEMAS["verdicts"].empty_table()]
    is_whole = not later and not written
    for worked in _verified(leg, items):  # (2)
        written_now = [row for row in worked if row is not None]
        rows.append(pa.Table.from_pylist(written_now, schema=SCHEMAS["verdicts"]))
        is_whole = is_whole and None not in worked
    whole = pa.concat_tables(rows)
    if whole.num_rows and is_whole and not leg.plan.is_small:
        with suppress(ResultsError):  # a store that fails for a while: the rows are published at the leg's end
            _publish(leg, piece.shard, whole)  # (3)
    return whole.num_rows


def rows_written(leg: LegContext, writers: Collection[str] | None = None) -> bytearray:
    """Read which rows of the plan are in the journals of this leg: one byte for each row.

    What this process has finished is written down first. Only the journals of `writers` are read, which may have
    millions of rows; None for all.

    Raises:
        ResultsError: the store cannot be used.
    """
    leg.journal.flush()
    segments, written = Segments(leg.results, leg.plan.run_id, leg.leg), bytearray(leg.plan.items)
    for name in segments.names("verdicts"):
        is_wanted = writers is None or name.rsplit("-", 2)[1] in writers
        rows = segments.table(name, ["manifest_row"]) if is_wanted else None
        for row in [] if rows is None else rows["manifest_row"].to_pylist():
            if row is not None:
                written[row] = 1
    return written


def _verified(leg: LegContext, items: Iterator[WorkItem]) -> Iterator[list[Row | None]]:
    """Verify items in portions, of which the second is begun before the first is awaited: no thread is ever idle."""
    begun: deque[list[Future[Row | None]]] = deque()
    latest: Latest | None = None
    while portion := list(islice(items, _ITEMS_AT_ONCE)):
        touched = [item.item_id for item in portion if item.is_touched]
        earlier: dict[str, Row] = {}
        with suppress(ResultsError):  # then they are sent
            latest = latest or (Latest(leg.results) if touched else None)
            earlier = latest.whole_answers(leg.plan.environment, touched) if latest else {}
        known = (replace(item, earlier=earlier.get(item.item_id)) if item.is_touched else item for item in portion)
        begun.append([leg.workers.submit(work_item, leg, item) for item in known])
        if len(begun) > 1:
            yield _worked(leg, begun.popleft())
    while begun:
        yield _worked(leg, begun.popleft())


def _worked(leg: LegContext, futures: Sequence[Future[Row | None]]) -> list[Row | None]:
    done, _ = wait(futures, return_when=FIRST_EXCEPTION)
    try:
        return [future.result() for future in done]
    except Exception:
        leg.stop.pull(RunMustStop("A worker failed through a mistake of this program.", ended_by=EndedBy.ERROR))
        raise


def work_item(leg: LegContext, item: WorkItem) -> Row | None:
    """Verify one item and write its row down; None when the row remains, or waits for a control."""
    with suppress(RunMustStop):  # begin nothing that could not be written down
        while not leg.heartbeat.store_is_well:
            leg.stop.rest(_STORE_CHECK_SECONDS)
    if leg.stop.reason is not None or not leg.control.may_try(item):
        return None
    is_free = item.ineligible is not None and not item.may_be_found
    if not (is_free or leg.budget.admits(item.manifest_row, calls_of(item.audio))):
        return None
    began_at = leg.dispatcher.clock()
    try:
        done = verify_item(item, leg.verify, partial(leg.trail.note, item.manifest_row))
        if isinstance(done, Deferred):
            return None
        row = row_of(done, leg.row_context)
        return row if leg.control.admit(done, row, began_at) else None
    finally:
        leg.budget.release(item.manifest_row)


def _publish(leg: LegContext, shard: int, rows: pa.Table) -> None:
    leg.journal.flush()  # first: else a kill could leave rows whose exchanges were only in memory
    name = layout.verdicts_name(leg.plan.run_id, leg.plan.run_date, shard, leg.leg)
    part = leg.results.create_part(name, "verdicts", rows.sort_by("manifest_row"))
    log(Event.SHARD_PUBLISHED, run_id=leg.plan.run_id, leg=leg.leg, shard=shard, rows=part.rows)


def work_last(leg: LegContext) -> None:
    """Finish what a leg has left; what remains in doubt then ends it.

    (1) make the controls that are due, (2) try what has no row once more, with the service asked for each file, (3)
    make the controls again.
    """
    try:
        leg.control.finish()  # (1)
        if leg.counters.lane is None and leg.counters.rows.total() >= leg.remaining.count:
            return
        last = replace(leg, verify=replace(leg.verify, duplicates=None))
        for _ in _verified(last, unfinished(leg)):  # (2)
            pass
        leg.control.finish()  # (3)
        in_doubt = sum(1 for _ in unfinished(leg))
    except RunMustStop:
        return
    except ResultsError as error:
        leg.stop.pull(RunMustStop(f"What remains cannot be read: {error.message}", ended_by=EndedBy.BREAKER))
        return
    if in_doubt:
        leg.stop.pull(RunMustStop(leg.control.sentence(in_doubt), ended_by=EndedBy.BREAKER))


def unfinished(leg: LegContext) -> Iterator[WorkItem]:
    """Return the items that have no row yet, of all processes of the leg; ResultsError if the store cannot be used."""
    written, published = rows_written(leg), PublishedRows(leg.results, leg.plan)
    items = leg.remaining.all_items()
    return (item for item in items if not written[item.manifest_row] and not published.has(item.manifest_row))
