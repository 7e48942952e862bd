"""Find the item that a person means: by its location, the end of it, its item ID or a request ID."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import islice
from typing import TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from proofsweep.domain.runs import Plan, shard_of
from proofsweep.errors import ResultsError
from proofsweep.printable import printable
from proofsweep.storage.results.plans_and_parts import Results

# Chosen: parts that wait for a bucket at once; twice gains little, half doubles the time that a person waits.
_READERS = 16
# Chosen: named in a message when several items fit; half may leave out the right one, twice fills a screen.
_MOST_NAMED = 10

_REQUEST_IDS = ("uploads_request_id", "verify_request_id", "storage_request_id")

S = TypeVar("S")
T = TypeVar("T")


def find_item(results: Results, plans: Sequence[Plan], wanted: str, location: str) -> str:
    """Give the ID of the item; the runs are searched in the order of `plans`.

    Args:
        results: the store.
        plans: of the runs to search, the newest first.
        wanted: a location, its end, an item ID or a request ID, as a person wrote it.
        location: the same, read as a location.

    Raises:
        ResultsError: nothing fits, several items do, or the store cannot be read.
    """
    names = [name for plan in plans for name in results.parts_of("verdicts", plan)]
    columns = ["item_id", "audio", *_REQUEST_IDS]
    by_end: dict[str, str] = {}
    for table in in_parallel(names, partial(part_of, results, columns)):
        if exact := _items(table.filter(_is_exactly(wanted, location))):
            return next(iter(exact))
        by_end |= _items(table.filter(pc.ends_with(table["audio"], f"/{wanted}")))
    if len(by_end) > 1:
        named = "; ".join(sorted(map(printable, by_end.values()))[:_MOST_NAMED])
        raise ResultsError(f"{len(by_end):,} items end in {printable(wanted)}; give the whole location of one: {named}")
    return next(iter(by_end), None) or _item_of_call(results, plans, wanted)


def _is_exactly(wanted: str, location: str) -> pc.Expression:
    found = (pc.field("audio") == location) | (pc.field("item_id") == wanted)
    for name in _REQUEST_IDS:
        found = found | (pc.field(name) == wanted)
    return found


def _items(rows: pa.Table) -> dict[str, str]:
    """Give the audio of each item."""
    return {str(row["item_id"]): str(row["audio"]) for row in rows.select(["item_id", "audio"]).to_pylist()}


def _item_of_call(results: Results, plans: Sequence[Plan], request_id: str) -> str:
    """Find a request that did not lead to an outcome: a retried one, or one for an item that remains."""
    for plan in plans:
        names = results.parts_of("exchanges", plan)
        for table in in_parallel(names, partial(part_of, results, ["manifest_row", "request_id"])):
            for row in table.filter(pc.field("request_id") == request_id)["manifest_row"].to_pylist():
                if row is None:
                    raise ResultsError(
                        f"{printable(request_id)} is a call of run {plan.run_id} that belongs to no file; see all its "
                        f"calls with: proofsweep explain {plan.run_id}"
                    )
                return _item_of_row(results, plan, row)
    raise ResultsError(
        f"{printable(request_id)} is neither an item nor a request nor a proof in {results.store.url}; give a file's "
        "location, its item_id, a request ID or a proof ID from the tables."
    )


def _item_of_row(results: Results, plan: Plan, row: int) -> str:
    """Give the item of a row: by its outcome, or by the plan if it has none."""
    names = results.parts_of("verdicts", plan)
    for table in in_parallel(names, partial(part_of, results, ["manifest_row", "item_id"])):
        for item_id in table.filter(pc.field("manifest_row") == row)["item_id"].to_pylist():
            return str(item_id)
    items = results.shard_items(plan.run_id, shard_of(plan, row))
    return next(item.item_id for item in items if item.manifest_row == row)


def part_of(results: Results, columns: list[str] | None, name: str) -> pa.Table:
    """Read columns of one part of a table."""
    return results.table(name.partition("/")[0], [name], columns)


def in_parallel(names: Iterable[S], read: Callable[[S], T]) -> Iterator[T]:
    """Read parts, or what else is named, in their order, some at once, and no more ahead than that."""
    waiting = iter(names)
    with ThreadPoolExecutor(_READERS) as pool:
        while portion := list(islice(waiting, 2 * _READERS)):
            yield from pool.map(read, portion)
