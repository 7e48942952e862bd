"""Make parts of a leg's journal: each row and each exchange in one part, however often and by whomever this is done.

Several processes may do this for one leg at the same time. The name of a part is created once, so each process goes on
with the parts that stand.
"""

from collections.abc import Iterator, Sequence

import pyarrow as pa

from proofsweep.domain.errors import NameTaken
from proofsweep.domain.runs import Plan, rows_of_shard, shard_of
from proofsweep.store import layout
from proofsweep.store.journal import Segments
from proofsweep.store.plans_and_parts import Results
from proofsweep.store.receipts import Part
from proofsweep.store.tables.schemas import SCHEMAS

_EXCHANGES_PER_PART = 25_000  # bounds the memory for one part to some 25 MB
EXCHANGE_IDENTITY = ["started_at", "manifest_row", "call", "attempt"]  # columns by which exchanges of one leg differ


class PublishedRows:
    """The verdicts parts of a run, and which rows they hold: one byte for each row of the plan."""

    def __init__(self, results: Results, plan: Plan) -> None:
        self._results = results
        self._plan = plan
        self._parts = results.verdicts_by_shard(plan)
        self._is_published = bytearray(plan.items)
        self._read: set[int] = set()

    def has(self, row: int) -> bool:
        shard = shard_of(self._plan, row)
        if shard not in self._read:
            self._read.add(shard)
            for published in self._results.rows_in(self._parts.get(shard, [])):
                self._is_published[published] = 1
        return bool(self._is_published[row])

    def is_finished(self, shard: int) -> bool:
        return self._results.is_finished(self._plan, shard, self._parts.get(shard, []))

    def publish(self, shard: int, leg: int, rows: pa.Table) -> None:
        """Create a leg's part of a shard. If the name is taken, what stands there counts, and other rows remain."""
        name = layout.verdicts_name(self._plan.run_id, self._plan.run_date, shard, leg)
        part, _ = _created(self._results, name, "verdicts", rows)
        others = [each for each in self._parts.get(shard, []) if each.name != part.name]
        self._parts[shard] = [*others, part]

    def of_leg(self, leg: int) -> list[Part]:
        parts = (part for _, parts in sorted(self._parts.items()) for part in parts)
        return [part for part in parts if layout.leg_of(part.name) == leg]

    @property
    def remaining(self) -> int:
        return self._plan.items - sum(part.rows for parts in self._parts.values() for part in parts)


def publish_rows(results: Results, plan: Plan, leg: int, segments: Segments, *, keeps_out: bool) -> PublishedRows:
    """Publish the rows of a leg's journal, shard by shard.

    With `keeps_out`, each other unfinished shard gets an empty part. It occupies the name: the process of the leg may
    only sleep, and must not publish a row that another leg works on by then.
    """
    published = PublishedRows(results, plan)
    waiting = _segments_that_wait(plan, segments, published)
    for shard in range(plan.shards):
        if shard in waiting:
            published.publish(shard, leg, _waiting_rows(plan, shard, waiting[shard], segments, published))
        elif keeps_out and not published.is_finished(shard):
            published.publish(shard, leg, SCHEMAS["verdicts"].empty_table())
    return published


def publish_exchanges(results: Results, plan: Plan, leg: int, segments: Segments) -> list[Part]:
    """Publish the exchanges of a leg's journal that are in none of its parts; give all its parts.

    There are such parts if an earlier settlement broke off, or if the process of a leg that was taken over comes back
    with more exchanges.
    """
    folder = layout.table_folder("exchanges", plan.run_date)
    listed = [name for name in results.store.names(folder) if name.startswith(f"{folder}/{plan.run_id}-")]
    standing = [name for name in listed if layout.leg_of(name) == leg]
    parts = [results.part(name) for name in standing]
    for number, portion in enumerate(_in_portions(segments.tables("exchanges"))):
        rows = _unpublished(results, portion, standing, number)
        while rows.num_rows:
            name = layout.exchanges_name(plan.run_id, plan.run_date, len(parts), leg)
            part, is_ours = _created(results, name, "exchanges", rows)
            parts.append(part)
            if is_ours:
                break
            standing.append(name)
            rows = _without(results, rows, name)
    return parts


def _segments_that_wait(plan: Plan, segments: Segments, published: PublishedRows) -> dict[int, list[str]]:
    waiting: dict[int, list[str]] = {}
    for name in segments.names("verdicts"):
        rows = segments.table(name, ["manifest_row"])
        numbers = [] if rows is None else _numbers(rows)
        for shard in {shard_of(plan, number) for number in numbers if not published.has(number)}:
            waiting.setdefault(shard, []).append(name)
    return waiting


def _waiting_rows(
    plan: Plan, shard: int, names: Sequence[str], segments: Segments, published: PublishedRows
) -> pa.Table:
    """Read the rows of one shard that are in no part, each once, in manifest order.

    None are found if another process has settled the leg meanwhile, or if the leg's own has merged its segments.
    """
    first = shard * plan.shard_items
    wanted = range(first, first + rows_of_shard(plan, shard))
    found = [rows for name in names if (rows := segments.table(name)) is not None]
    indexes: dict[int, int] = {}
    waiting = [SCHEMAS["verdicts"].empty_table()]
    for table in found:
        is_waiting = [number in wanted and not published.has(number) for number in _numbers(table)]
        waiting.append(table.filter(pa.array(is_waiting, pa.bool_())))
    rows = pa.concat_tables(waiting)
    for index, number in enumerate(_numbers(rows)):
        indexes.setdefault(number, index)
    return rows.take(pa.array([indexes[number] for number in sorted(indexes)], pa.int64()))


def _numbers(verdicts: pa.Table) -> list[int]:
    return [number for number in verdicts["manifest_row"].to_pylist() if number is not None]  # none is null


def _created(results: Results, name: str, table: str, rows: pa.Table) -> tuple[Part, bool]:
    try:
        return results.create_part(name, table, rows), True
    except NameTaken:
        return results.part(name), False


def _unpublished(results: Results, rows: pa.Table, standing: Sequence[str], number: int) -> pa.Table:
    for index in sorted(range(len(standing)), key=lambda index: abs(index - number)):
        if not rows.num_rows:
            break
        rows = _without(results, rows, standing[index])
    return rows


def _without(results: Results, rows: pa.Table, name: str) -> pa.Table:
    known = set(exchange_identities(results.table("exchanges", [name], EXCHANGE_IDENTITY)))
    return rows.filter(pa.array([identity not in known for identity in exchange_identities(rows)], pa.bool_()))


def exchange_identities(rows: pa.Table) -> Iterator[tuple[object, ...]]:
    """Name each exchange by what makes it differ from the others of its leg."""
    return zip(*(rows[name].to_pylist() for name in EXCHANGE_IDENTITY), strict=True)


def _in_portions(segments: Iterator[pa.Table]) -> Iterator[pa.Table]:
    waiting: list[pa.Table] = []
    for segment in segments:
        waiting.append(segment)
        if sum(table.num_rows for table in waiting) >= _EXCHANGES_PER_PART:
            yield pa.concat_tables(waiting)
            waiting = []
    if waiting:
        yield pa.concat_tables(waiting)
