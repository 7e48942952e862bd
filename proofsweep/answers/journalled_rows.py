"""What a killed leg has written down: finished rows and calls, which the next leg publishes and counts."""

import pyarrow as pa

from proofsweep.model.layout import shard_and_leg_of
from proofsweep.model.runs import Plan, shard_of
from proofsweep.store.journal import Segments
from proofsweep.store.plans_and_parts import Results
from proofsweep.verify.leg.runs_row import exchange_counts


def unpublished_rows(results: Results, plan: Plan, leg: int, columns: list[str]) -> list[pa.Table]:
    """Read the rows of a leg's journal that are in none of its parts, each once."""
    published = {shard for shard, of in map(shard_and_leg_of, results.parts_of("verdicts", plan)) if of == leg}
    found, seen = [], set[int]()
    for rows in Segments(results, plan.run_id, leg).tables("verdicts"):
        numbers = [int(number or 0) for number in rows["manifest_row"].to_pylist()]
        wanted = [shard_of(plan, number) not in published and number not in seen for number in numbers]
        seen.update(numbers)
        found.append(rows.select(columns).filter(pa.array(wanted, pa.bool_())))
    return found


def journalled_calls(results: Results, plan: Plan, leg: int) -> dict[str, object]:
    """Count the calls of a leg's journal, as the columns of `runs`."""
    counts = exchange_counts(Segments(results, plan.run_id, leg).tables("exchanges"))
    return {column: counts[column] for column in ("calls", "throttled", "bytes_sent")}
