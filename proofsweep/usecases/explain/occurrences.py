"""What happened to one item in each run: its row, and every exchange that was made for it."""

from collections.abc import Iterator, Sequence
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from proofsweep.domain.occurrences import Occurrence, rows_of_calls
from proofsweep.domain.runs import Plan
from proofsweep.domain.tables.columns import Row
from proofsweep.errors import ResultsError
from proofsweep.storage.results.plans_and_parts import Results
from proofsweep.usecases.explain.find_item import in_parallel, part_of


def occurrences(
    results: Results, plans: Sequence[Plan], item_id: str, unfinished: frozenset[str]
) -> Iterator[Occurrence]:
    """Give what happened to an item in each run that has it.

    What a leg that is active now has not published yet is missing.

    Args:
        results: the store.
        plans: of the runs, in the order of the answer.
        item_id: the item.
        unfinished: IDs of the runs that have rows without an outcome.

    Raises:
        ResultsError: a part cannot be read.
    """
    for plan in plans:
        found: dict[int, Row | None] = {int(str(row["manifest_row"])): row for row in _rows_of(results, plan, item_id)}
        if plan.run_id in unfinished:
            found = dict.fromkeys(_planned_rows(results, plan, item_id)) | found
        if found:
            calls = _exchanges_of(results, plan, set().union(*(rows_of_calls(*each) for each in found.items())))
            for manifest_row, row in sorted(found.items()):
                own = rows_of_calls(manifest_row, row)
                exchanges = [call for call in calls if call["manifest_row"] in own]
                yield Occurrence(plan=plan, manifest_row=manifest_row, row=row, exchanges=exchanges)


def _rows_of(results: Results, plan: Plan, item_id: str) -> Iterator[Row]:
    """Read the rows of an item; of most parts only the IDs are read."""
    names = results.parts_of("verdicts", plan)
    ids = in_parallel(names, partial(part_of, results, ["item_id"]))
    is_item = pc.field("item_id") == item_id
    for name, table in zip(names, ids, strict=True):
        if table.filter(is_item).num_rows:
            yield from part_of(results, None, name).filter(is_item).to_pylist()


def _planned_rows(results: Results, plan: Plan, item_id: str) -> Iterator[int]:
    for shard in range(plan.shards):
        try:
            items = results.shard_items(plan.run_id, shard)
        except ResultsError:  # an old run's planned items may be pruned
            return
        yield from (item.manifest_row for item in items if item.item_id == item_id)


def _exchanges_of(results: Results, plan: Plan, rows: set[int]) -> list[Row]:
    wanted = pc.field("manifest_row").isin(pa.array(sorted(rows), pa.int64()))
    tables = in_parallel(results.parts_of("exchanges", plan), partial(part_of, results, None))
    found = [call for table in tables for call in table.filter(wanted).to_pylist()]
    return sorted(found, key=lambda call: str(call["started_at"]))
