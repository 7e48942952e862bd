"""Try last what is in doubt, when all other files of a leg are done."""

import random
from collections.abc import Iterable, Iterator
from concurrent.futures import wait
from dataclasses import replace
from itertools import islice

from proofsweep.domain.items import Mode, WorkItem
from proofsweep.errors import ResultsError, RunMustStop
from proofsweep.usecases.leg.leg_context import LegContext
from proofsweep.usecases.leg.publish import PublishedRows
from proofsweep.usecases.leg.work import rows_written, work_item

# Items of a mode that only fails which are tried before all others of it. Chosen: half may meet bad files alone; twice
# spends twice the calls each night on a setting that is wrong.
_EXPLORED = 5
# Items that are begun together. Chosen: half lets threads idle twice as often; twice keeps more in memory.
_ITEMS_AT_ONCE = 1_000


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
        for mode in leg.control.lift_storms():
            _explore(last, mode)
        _work_on(last, unfinished(leg))  # (2)
        leg.control.finish()  # (3)
        in_doubt = sum(1 for _ in unfinished(leg))
    except RunMustStop:
        return
    except ResultsError as error:
        leg.stop.pull(RunMustStop(f"What remains cannot be read: {error.message}", ended_by="breaker"))
        return
    if in_doubt:
        leg.stop.pull(RunMustStop(leg.control.sentence(in_doubt), ended_by="breaker"))


def unfinished(leg: LegContext) -> Iterator[WorkItem]:
    """Give the items that have no row yet, of all processes of the leg.

    Raises:
        ResultsError: the store cannot be used.
    """
    written, published = rows_written(leg), PublishedRows(leg.results, leg.plan)
    items = leg.remaining.all_items()
    return (item for item in items if not written[item.manifest_row] and not published.has(item.manifest_row))


def _explore(leg: LegContext, mode: Mode) -> None:
    """Try a few items of a mode that only failed: if they fail too, the others are not tried."""
    rows = [item.manifest_row for item in unfinished(leg) if item.mode is mode]
    drawn = frozenset(random.sample(rows, min(_EXPLORED, len(rows))))
    for item in [item for item in unfinished(leg) if item.manifest_row in drawn]:
        leg.control.lift_storms()
        work_item(leg, item)
    leg.control.put_aside_again(mode)


def _work_on(leg: LegContext, items: Iterable[WorkItem]) -> None:
    rest = iter(items)
    while portion := list(islice(rest, _ITEMS_AT_ONCE)):
        futures = [leg.workers.submit(work_item, leg, item) for item in portion]
        wait(futures)
        for future in futures:
            future.result()
