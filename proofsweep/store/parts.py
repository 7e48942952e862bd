"""The results store: plans, shards, the parts of the tables, and the receipts that name them."""

import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from proofsweep.domain.errors import ResultsError
from proofsweep.domain.items import Row, WorkItem
from proofsweep.domain.runs import Plan, rows_of_shard
from proofsweep.store import layout
from proofsweep.store.lease import Lease
from proofsweep.store.objects import Store, damaged, json_bytes, sha256_hex
from proofsweep.store.prunings import pruned_names
from proofsweep.store.rows import planned_item
from proofsweep.store.schemas import SCHEMAS, conformed

# Planned items that are made of a shard at once, some 3 KB each while they are made.
_ITEMS_AT_ONCE = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A part of a table: its name, rows and hex sha256."""

    name: str
    rows: int
    sha256: str


class Results:
    def __init__(self, store: Store) -> None:
        self.store = store

    def write_shard(self, run_id: str, shard: int, table: pa.Table) -> None:
        self.store.create(layout.shard_name(run_id, shard), parquet_of(table))

    def shard_items(self, run_id: str, shard: int) -> list[WorkItem]:
        return list(self.each_shard_item(run_id, shard))

    def each_shard_item(self, run_id: str, shard: int) -> Iterator[WorkItem]:
        """Yield one shard's work items one by one, in manifest order: a large run has tens of thousands in a shard."""
        table = _table_of(self._required(layout.shard_name(run_id, shard)))
        for portion in table.to_batches(max_chunksize=_ITEMS_AT_ONCE):
            yield from map(planned_item, portion.to_pylist())

    def items(self, plan: Plan) -> Iterator[WorkItem]:
        return (item for shard in range(plan.shards) for item in self.each_shard_item(plan.run_id, shard))

    def write_plan(self, plan: Plan) -> None:
        """Write the plan, after its shards: this makes the run exist."""
        self.store.create(layout.plan_name(plan.run_id), json_bytes(asdict(plan)))

    def plan(self, run_id: str) -> Plan:
        """Read a run's plan; ResultsError if there is no such run here."""
        content = self.store.read(layout.plan_name(run_id)) if layout.is_run_id(run_id) else None
        if content is None:
            raise ResultsError(f"There is no run {run_id!r} in {self.store.url}.")
        try:
            return _checked(plan_of(json.loads(content)))
        except (ValueError, TypeError, AttributeError) as damage:
            raise damaged(self.store, layout.plan_name(run_id), "it is not a whole plan") from damage

    def plan_digest(self, run_id: str) -> str:
        return sha256_hex(self._required(layout.plan_name(run_id)))

    def parts_of(self, table: str, plan: Plan) -> list[str]:
        """List the names of one run's parts of a table, sorted.

        A leg that has ended has the verdicts that its receipt names, whatever the listing shows. Exchanges may come
        later: those of a leg that was taken over and came back. What a pruning has deleted,
        or will delete, is left out.
        """
        return self._parts_of(table, plan, {} if table == "runs" else ended_parts(self.store, plan.run_id))

    def verdicts_by_shard(self, plan: Plan) -> dict[int, list[Part]]:
        ended = ended_parts(self.store, plan.run_id)
        known = {part.name: part for parts in ended.values() for part in parts}
        shards: dict[int, list[Part]] = {}
        for name in self._parts_of("verdicts", plan, ended):
            shards.setdefault(layout.shard_and_leg_of(name)[0], []).append(known.get(name) or self.part(name))
        return shards

    def is_finished(self, plan: Plan, shard: int, parts: Sequence[Part]) -> bool:
        """Return whether a shard's parts hold all its rows; a single part that does need not be read."""
        rows = rows_of_shard(plan, shard)
        return any(part.rows >= rows for part in parts) or len(self.rows_in(parts)) >= rows

    def rows_in(self, parts: Iterable[Part]) -> set[int]:
        read = self.tables([part.name for part in parts if part.rows], ["manifest_row"])
        return {row for table in read for row in table["manifest_row"].to_pylist() if row is not None}

    def create_part(self, name: str, table: str, rows: Sequence[Row] | pa.Table) -> Part:
        """Write one part with its whole schema; NameTaken if another stands there."""
        schema = SCHEMAS[table]
        content = rows if isinstance(rows, pa.Table) else pa.Table.from_pylist(list(rows), schema=schema)
        whole = pa.concat_tables([schema.empty_table(), content], promote_options="default")
        written = parquet_of(whole)
        self.store.create(name, written)
        return Part(name=name, rows=whole.num_rows, sha256=sha256_hex(written))

    def part(self, name: str) -> Part:
        content = self._required(name)
        return Part(name=name, rows=pq.read_metadata(io.BytesIO(content)).num_rows, sha256=sha256_hex(content))

    def table(self, table: str, names: Iterable[str], columns: list[str] | None = None) -> pa.Table:
        """Read parts of one table into Arrow, with the whole schema even if there are none."""
        none = pa.Table.from_batches([], schema=_schema(table, columns))  # `empty_table` would import pandas
        parts = [none, *self.tables(names, columns)]
        return pa.concat_tables(parts, promote_options="default")  # a column that an older part lacks is nullable there

    def tables(self, names: Iterable[str], columns: list[str] | None = None) -> Iterator[pa.Table]:
        return (self._table(name, columns) for name in names)

    def object_table(self, name: str, columns: list[str]) -> pa.Table:
        """Read columns of one Parquet object; ResultsError if it is missing."""
        return _table_of(self._required(name), columns)

    def all_parts(self, table: str) -> Iterator[str]:
        for folder in self.store.folders(table):
            yield from self.store.names(f"{table}/{folder}")

    def _parts_of(self, table: str, plan: Plan, ended: Mapping[int, Sequence[Part]]) -> list[str]:
        folder = layout.table_folder(table, plan.run_date)
        listed = [name for name in self.store.names(folder) if name.startswith(f"{folder}/{plan.run_id}-")]
        named = (part.name for parts in ended.values() for part in parts if part.name.startswith(f"{folder}/"))
        is_late = table == "exchanges"
        found = {*named, *(name for name in listed if is_late or layout.leg_of(name) not in ended)}
        return sorted(found if table == "runs" else found - pruned_names(self.store, plan.run_id))

    def _table(self, name: str, columns: list[str] | None) -> pa.Table:
        content = self.store.read(name)
        schema = _schema(name.partition("/")[0], columns)
        if content is None and name in pruned_names(self.store, layout.run_of(name)):  # since it was listed
            return schema.empty_table()
        try:
            return conformed(_table_of(self._required(name) if content is None else content, columns), schema)
        except (pa.ArrowException, OSError) as damage:
            raise damaged(self.store, name, "it cannot be read as Parquet") from damage

    def _required(self, name: str) -> bytes:
        content = self.store.read(name)
        if content is None:
            raise ResultsError(f"{name} is missing from the results store {self.store.url}.")
        return content


def _schema(table: str, columns: list[str] | None) -> pa.Schema:
    whole = SCHEMAS[table]
    return whole if columns is None else pa.schema(map(whole.field, columns)).with_metadata(whole.metadata)


def plan_of(document: dict[str, Any]) -> Plan:
    """Read a plan from its document; what a later version has added is ignored."""
    known = {field.name for field in fields(Plan)}
    return Plan(**{name: value for name, value in document.items() if name in known})


def _checked(plan: Plan) -> Plan:
    plan.run_date.isoformat()
    if not all(isinstance(count, int) for count in (plan.items, plan.shards, plan.shard_items)):
        raise TypeError("a plan counts in whole numbers")
    return plan


def parquet_of(table: pa.Table) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(table, buffer, compression="zstd")
    return buffer.getvalue()


def _table_of(content: bytes, columns: list[str] | None = None) -> pa.Table:
    """Read one Parquet object in this thread: Arrow's own threads can abort a process that ends right after a read."""
    return pq.ParquetFile(pa.BufferReader(content)).read(columns, use_threads=False)


def receipted_parts(receipt: Mapping[str, Any]) -> list[Part]:
    """Return the parts that a receipt names; KeyError, ValueError or TypeError if it is damaged."""
    return [Part(name=each["name"], rows=int(each["rows"]), sha256=each["sha256"]) for each in receipt["parts"]]


def ended_parts(store: Store, run_id: str) -> dict[int, list[Part]]:
    """Return the parts of each leg that has ended, by its receipt."""
    lease = Lease(store, run_id)
    receipts = {leg: lease.receipt(leg) for leg in lease.numbers()}
    named = {leg: receipt.get("parts") for leg, receipt in receipts.items() if receipt is not None}
    return {leg: [Part(**part) for part in parts] for leg, parts in named.items() if isinstance(parts, list)}
