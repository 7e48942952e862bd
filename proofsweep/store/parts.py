"""The results store: plans and their items, the parts of the tables, the receipts that name them, and prunings.

A pruning is an entry of the log before its first deletion. The schema of a part carries the table's name, and each
field its meaning under `comment`, the key that Spark and Iceberg use.
"""

import io
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from itertools import chain

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import TypeAdapter, ValidationError

from proofsweep.config.notices import say
from proofsweep.config.threads import some_at_once, utc_now
from proofsweep.domain.errors import ResultsError
from proofsweep.domain.items import Row, WorkItem
from proofsweep.domain.runs import AnyRun, Plan
from proofsweep.store import layout, tables
from proofsweep.store.holder import this_process
from proofsweep.store.log import EntryKind
from proofsweep.store.objects import (
    JSON_OBJECT,
    REQUESTS_AT_ONCE,
    Store,
    damaged,
    json_bytes,
    read_document,
    read_required,
    sha256_hex,
)
from proofsweep.store.rows import planned_item
from proofsweep.store.runs import PLAN, RunLog, Runs
from proofsweep.store.tables import TIME, Column


def _schema_of(table: str, columns: Sequence[Column]) -> pa.Schema:
    fields = [_field_of(column) for column in columns]
    return pa.schema(fields).with_metadata({"proofsweep.table": table})


def _field_of(column: Column) -> "pa.Field[pa.DataType]":
    kind: pa.DataType = pa.timestamp("us", "UTC")
    if column.kind != TIME:
        kind = pa.type_for_alias(column.kind)  # type: ignore[call-overload]  # the stubs want literals
    return pa.field(column.name, kind, nullable=column.nullable, metadata={"comment": column.meaning})


SCHEMAS = {name: _schema_of(name, table.columns) for name, table in tables.TABLES.items()}
"""The schemas of the tables by their names."""

ITEMS = _schema_of("planned items", tables.PLANNED_ITEMS)
LATEST = _schema_of("latest", tables.LATEST)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruning:
    """One pruning of a run, as its entry in the log has it. One that keeps parts may be pruned again later."""

    run_id: str
    decided_at: str  # ISO instant in UTC
    older_than_days: int  # the age that was asked for
    is_whole: bool  # no row of it stays but those of `runs`, and no list of its catalog is needed
    deleted: Mapping[str, int]  # sizes in bytes of all objects that go, by their names
    proofsweep_version: str

    @property
    def size_bytes(self) -> int:
        return sum(self.deleted.values())

    @property
    def deletes_list(self) -> bool:
        """Whether it deletes what its run lists of its catalog."""
        if self.is_whole:
            return True
        items = f"{layout.items_folder(self.run_id)}/"
        listed = f"{layout.items_folder(self.run_id, 'listed')}/"
        return any(name.startswith((items, listed)) for name in self.deleted)

    @property
    def last(self) -> str:
        """The object that is deleted after all others."""
        return [*self.deleted][-1]


PRUNING = TypeAdapter(Pruning)


_ZSTD_ROWS = 1_000
_ITEMS_AT_ONCE = 500  # planned items that are made of an object at once: some 3 KB each while they are made


_JOURNAL, _CLOSING = b"proofsweep.journal", b"proofsweep.closing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    name: str
    rows: int
    sha256: str  # in hex


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """What a part says of its leg's journal and sequence, in the metadata of its schema."""

    journal: dict[str, int]  # up to which segment of each writer this part and those before it have all rows
    is_closing: bool  # the leg has no later part of this table


class Results:
    def __init__(self, store: Store) -> None:
        self.store, self.log = store, RunLog(store)
        self._missing = set[str]()  # parts that this process has named as missing

    def items(self, plan: Plan, rows: Collection[int] | None = None) -> Iterator[WorkItem]:
        """Yield the planned items of these rows, all by default, one by one, in manifest order."""
        rows = range(plan.items) if rows is None else rows
        numbers = {row // plan.batch_items for row in rows}
        for number in sorted(numbers):
            table = read_table(self.store, layout.items_name(plan.run_id, number), ITEMS)
            for batch in table.to_batches(max_chunksize=_ITEMS_AT_ONCE):
                for row in batch.to_pylist():
                    if row["manifest_row"] in rows:
                        yield planned_item(row)

    def write_plan(self, plan: AnyRun) -> None:
        """Write the plan, after its items, and enter it in the log: this makes the run, or the operation, exist."""
        # The entry comes last: a run that the log names is whole, wherever the process is killed.
        document = json_bytes(asdict(plan))
        self.store.create(layout.plan_name(plan.run_id), document)
        self.enter_plan(plan)

    def enter_plan(self, plan: AnyRun) -> None:
        """See that the log knows a plan: the process that wrote it may have been killed before it did."""
        if self.log.known.of(plan) is not None:
            return

        def decide(runs: Runs) -> Row | None:
            if runs.of(plan) is not None:  # another process has entered it since
                return None
            holder = this_process(utc_now(), {})
            return {"sha256": self.plan_digest(plan.run_id), "holder": asdict(holder)}

        self.log.append(EntryKind.PLANNED, plan.run_id, decide)

    def plan(self, run_id: str) -> Plan:
        """Read a run's plan; ResultsError if there is no such run here."""
        record = self.log.known.records.get(run_id)
        if record is not None:
            return record.plan
        # A person may name anything: an operation's plan is another document, and other text is no name of an object.
        plan = None
        if layout.is_run_id(run_id) and not layout.kind_of(run_id):
            plan = read_document(self.store, layout.plan_name(run_id), PLAN)
        if plan is None:
            hint = "`proofsweep status` names the last ones"
            raise ResultsError(f"There is no run {run_id!r} in {self.store.url}: {hint}.")
        return plan

    def plan_digest(self, run_id: str) -> str:
        return sha256_hex(read_required(self.store, layout.plan_name(run_id)))

    def parts_of(self, table: str, plan: AnyRun, leg: int | None = None) -> list[str]:
        """List the names of one run's parts of a table, or of one of its legs, sorted."""
        names = self._parts(table, plan)
        return sorted(name for name in names if leg in {None, layout.leg_of(name)})

    def rows_published(self, plan: Plan, own: Iterable[Part] = ()) -> list[int]:
        """Count the rows of each partition's verdicts; those of `own` parts, and of ended legs, need not be read."""
        # A listing may lack the newest of the own parts.
        parts: dict[str, Part | None] = {part.name: part for part in own}
        for name, part in self._parts("verdicts", plan).items():
            parts[name] = part or parts.get(name)
        rows = [0] * plan.partitions
        for name, part in parts.items():
            published = part or self.marked_part(name)[0]
            partition = plan.partition_of_leg(layout.leg_of(name))
            rows[partition] += published.rows
        return rows

    def _parts(self, table: str, plan: AnyRun) -> dict[str, Part | None]:
        """Return the parts of a run by their names; None for one that no receipt names yet."""
        folder = layout.table_folder(table, plan.run_date)
        ended: dict[int, list[Part]] = {}
        if table in {plan.table, "exchanges"}:  # receipts name no others
            ended = self.ended_parts(plan)
        prefix = f"{folder}/{plan.run_id}-"
        listed = [name for name in self.store.names(folder) if name.startswith(prefix)]
        # What a pruning has deleted, or will delete, is left out. A listing that is older than this may still show it.
        pruned = self.pruned_names(plan.run_id)
        parts: dict[str, Part | None] = {}
        for name in listed:
            if name not in pruned and layout.leg_of(name) not in {0, *ended}:
                parts[name] = None
        # A leg that has ended has the parts that its receipt names, also if a listing does not show them yet. What is
        # missing is left out: its rows remain.
        for part in chain.from_iterable(ended.values()):
            if not part.name.startswith(f"{folder}/") or part.name in pruned:
                continue
            if part.name in listed or self._is_there(part.name):
                parts[part.name] = part
        return parts

    def _is_there(self, name: str) -> bool:
        if self.store.read(name) is not None:
            return True
        # A copy of a store may lack a part. It is named once, and the rest goes on.
        if name not in self._missing:
            self._missing.add(name)
            say(f"{name} is missing from the results store {self.store.url}: its rows remain; see: proofsweep audit")
        return False

    def receipts(self, run: AnyRun) -> dict[int, Row]:
        """Read the receipts of the legs that have one, by their numbers; one that cannot be read is left out."""
        record = self.log.runs().of(run)
        if record is None:
            return {}
        names = [layout.receipt_name(run.run_id, leg) for leg in record.numbers]
        contents = some_at_once(names, self.store.read, REQUESTS_AT_ONCE)
        receipts: dict[int, Row] = {}
        for leg, content in zip(record.numbers, contents, strict=True):
            with suppress(ValueError):
                receipts[leg] = JSON_OBJECT.validate_json(content or b"")
        return receipts

    def ended_parts(self, run: AnyRun) -> dict[int, list[Part]]:
        """Return the parts of each leg that has ended, by its receipt."""
        parts: dict[int, list[Part]] = {}
        for leg, receipt in self.receipts(run).items():
            documents = receipt.get("parts")
            if isinstance(documents, list):
                parts[leg] = [Part(**document) for document in documents]
        return parts

    def incomplete_legs(self, plan: Plan) -> set[int]:
        """Return the ended legs of a run whose receipt cannot be read, or names rows that are missing.

        A store that is restored from a backup lacks both for a while: what is derived meanwhile must not last.
        """
        record = self.log.runs().of(plan)
        ended = self.ended_parts(plan)
        folder = layout.table_folder(plan.table, plan.run_date)
        kept = self._parts(plan.table, plan).keys() | self.pruned_names(plan.run_id)
        incomplete: set[int] = set()
        for leg in record.legs if record is not None else ():
            parts = ended.get(leg.leg)
            if parts is None:
                incomplete.add(leg.leg)
                continue
            names = {part.name for part in parts if part.name.startswith(f"{folder}/")}
            if not names <= kept:
                incomplete.add(leg.leg)
        return incomplete

    def prunings_of(self, run_id: str) -> list[Pruning]:
        """Read the prunings of a run, the oldest first; none if it had none. ResultsError if one is damaged."""
        prunings: list[Pruning] = []
        for number in self.log.runs().prunings.get(run_id, ()):
            facts = self.log.entry(number).facts
            try:
                pruning = PRUNING.validate_python({"run_id": run_id, **facts})
            except ValidationError as damage:
                raise damaged(self.store, layout.log_name(number), "it is no pruning") from damage
            prunings.append(pruning)
        return prunings

    def pruned_names(self, run_id: str) -> frozenset[str]:
        """Name all objects of a run that prunings have deleted, or will when they are repeated."""
        names = set[str]()
        for pruning in self.prunings_of(run_id):
            names.update(pruning.deleted)
        return frozenset(names)

    def create_part(self, name: str, table: str, rows: Sequence[Row] | pa.Table, mark: Mark | None = None) -> Part:
        """Write one part with its whole schema; NameTaken if there is one of the name."""
        schema = SCHEMAS[table]
        whole = rows if isinstance(rows, pa.Table) else pa.Table.from_pylist(list(rows), schema=schema)
        if mark is not None:
            metadata = dict(schema.metadata or {})
            metadata[_JOURNAL] = json.dumps(mark.journal).encode()
            if mark.is_closing:
                metadata[_CLOSING] = b"true"
            whole = whole.replace_schema_metadata(metadata)
        written = parquet_of(whole)
        self.store.create(name, written)
        return Part(name=name, rows=whole.num_rows, sha256=sha256_hex(written))

    def marked_part(self, name: str) -> tuple[Part, Mark]:
        """Read a part of a leg, and what it says of the leg; ResultsError if it is missing or damaged."""
        content = read_required(self.store, name)
        try:
            file = pq.ParquetFile(pa.BufferReader(content))
            metadata = file.schema_arrow.metadata or {}
            journal = json.loads(metadata.get(_JOURNAL, b"{}"))
        except (pa.ArrowException, OSError, ValueError) as damage:
            raise damaged(self.store, name, "it cannot be read as Parquet") from damage
        part = Part(name=name, rows=file.metadata.num_rows, sha256=sha256_hex(content))
        return part, Mark(journal=journal, is_closing=_CLOSING in metadata)

    def table(self, table: str, names: Iterable[str], columns: list[str] | None = None) -> pa.Table:
        """Read parts of one table into Arrow, with the whole schema even if there are none."""
        schema = _schema(table, columns)
        no_rows = pa.Table.from_batches([], schema=schema)  # `empty_table` would import pandas
        tables = [no_rows, *self.tables(names, columns)]
        # A column that an older part lacks is nullable there.
        return pa.concat_tables(tables, promote_options="default")

    def tables(self, names: Iterable[str], columns: list[str] | None = None) -> Iterator[pa.Table]:
        for name in names:
            yield self._table(name, columns)

    def all_parts(self, table: str) -> Iterator[str]:
        for folder in self.store.folders(table):
            yield from self.store.names(f"{table}/{folder}")

    def _table(self, name: str, columns: list[str] | None) -> pa.Table:
        content = self.store.read(name)
        table, _, _ = name.partition("/")
        schema = _schema(table, columns)
        # A pruning may have deleted the part since it was listed. Any other part that is missing is an error.
        if content is None and name in self.pruned_names(layout.run_of(name)):
            return schema.empty_table()
        return read_table(self.store, name, schema, content)


def _schema(table: str, columns: list[str] | None) -> pa.Schema:
    whole = SCHEMAS[table]
    if columns is None:
        return whole
    fields = [whole.field(name) for name in columns]
    return pa.schema(fields).with_metadata(whole.metadata)


def parquet_of(table: pa.Table) -> bytes:
    # Of few rows, to set zstd up for each column takes longer than all else, and saves nothing.
    is_large = table.num_rows >= _ZSTD_ROWS
    buffer = io.BytesIO()
    pq.write_table(table, buffer, compression="zstd" if is_large else "snappy")
    return buffer.getvalue()


def table_of(content: bytes, columns: list[str] | None = None) -> pa.Table:
    """Read one Parquet object in this thread."""
    file = pq.ParquetFile(pa.BufferReader(content))
    # Arrow's own threads can abort a process that ends right after a read.
    return file.read(columns, use_threads=False)


def read_table(store: Store, name: str, schema: pa.Schema, content: bytes | None = None) -> pa.Table:
    """Read the columns of a schema of a Parquet object, or of its content; ResultsError if it is missing or damaged."""
    if content is None:
        content = read_required(store, name)
    try:
        table = table_of(content, schema.names)
        return conformed(table, schema)
    except (pa.ArrowException, OSError) as damage:
        raise damaged(store, name, "it cannot be read as Parquet") from damage


def conformed(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return a table the columns of a schema, in its order: those that an older file lacks are null.

    pyarrow.ArrowException if a column has another type that cannot be converted.
    """
    if table.schema.equals(schema):
        return table.replace_schema_metadata(schema.metadata)
    present = frozenset(table.column_names)
    columns = []
    fields = []
    for field in schema:
        if field.name in present:
            columns.append(table[field.name].cast(field.type))
            fields.append(field)
        else:
            nulls = pa.nulls(table.num_rows, field.type)
            columns.append(pa.chunked_array([nulls]))
            fields.append(field.with_nullable(True))
    return pa.table(columns, schema=pa.schema(fields).with_metadata(schema.metadata))
