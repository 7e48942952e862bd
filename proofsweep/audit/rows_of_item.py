"""Find the rows of one item: in every part of the tables that tell of items, and among the planned items."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from proofsweep.background import some_at_once
from proofsweep.errors import ResultsError
from proofsweep.model import layout
from proofsweep.model.items import PROOF_PREFIX, raw_bytes
from proofsweep.model.tables.registry import TABLES
from proofsweep.store.plans_and_parts import Results
from proofsweep.store.store import REQUESTS_AT_ONCE

_NAMES = ("item_id", "audio")  # The columns by which an item is found: its ID and its location


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The rows of an item in one object, by their indexes in it, counted from 0."""

    name: str
    indexes: Sequence[int]


@dataclass(frozen=True, slots=True)
class _Known:
    """What the answers of an item say of it: its IDs and its proofs."""

    item_ids: set[str] = field(default_factory=set)
    proof_ids: set[str] = field(default_factory=set)

    def add(self, rows: pa.Table) -> None:
        item_ids, proof_ids, locations = (rows[name].to_pylist() for name in ("item_id", "proof_id", "audio"))
        self.item_ids.update(map(str, item_ids))
        self.proof_ids.update(str(each) for each in proof_ids if each)
        named = (str(each) for each in locations if str(each).startswith(PROOF_PREFIX))
        self.proof_ids.update(each.removeprefix(PROOF_PREFIX) for each in named)

    def indexes_in(self, rows: pa.Table) -> set[int]:
        """Find the rows of an operation that are about a proof of the item, and name no other item."""
        item_ids, proof_ids = (pa.array(each, pa.string()) for each in (self.item_ids, self.proof_ids))
        is_no_other = pc.or_(pc.is_null(rows["item_id"]), pc.is_in(rows["item_id"], item_ids))
        is_proof = pc.is_in(rows["proof_id"], proof_ids)
        return _where(pc.and_(is_proof, is_no_other))


def rows_of_item(results: Results, item: str) -> Iterator[Found]:
    """Find an item in the tables, part by part; in those of operations also by the proofs that its answers name."""
    known = _Known()
    for table in (table.name for table in TABLES.values() if table.kept):  # answers come first
        names = list(results.all_parts(table))
        read = partial(read_object, results, columns=_columns_in)
        for name, rows in zip(names, some_at_once(names, read, REQUESTS_AT_ONCE), strict=True):
            indexes = _indexes_of(item, rows)
            if table == "verdicts":
                known.add(rows.take(pa.array(sorted(indexes), pa.int64())))
            elif "proof_id" in rows.column_names:
                indexes |= known.indexes_in(rows)
            if indexes:
                yield Found(name=name, indexes=sorted(indexes))


def planned_rows_of_item(results: Results, item: str, run_ids: Sequence[str]) -> Iterator[Found]:
    """Find an item in the plans of some runs, shard by shard; ResultsError if a shard cannot be read."""
    for run_id in run_ids:
        for name in results.store.names(layout.shards_folder(run_id)):
            indexes = _indexes_of(item, read_object(results, name, _columns_in))
            if indexes:
                yield Found(name=name, indexes=sorted(indexes))


def listed_rows_of(results: Results, found: Sequence[Found], run_ids: Sequence[str]) -> Iterator[Found]:
    """Find the items of some rows in what some runs listed or found gone; ResultsError if an object cannot be read."""
    rows = (read_object(results, each.name, _columns_in)["item_id"].take(pa.array(each.indexes)) for each in found)
    item_ids = pa.array({item_id for each in rows for item_id in each.to_pylist() if item_id}, pa.string())
    folders = (folder(run_id) for run_id in run_ids for folder in (layout.listed_folder, layout.gone_folder))
    for name in (name for folder in folders for name in results.store.names(folder)):
        indexes = _where(pc.is_in(read_object(results, name, _columns_in)["item_id"], item_ids))
        if indexes:
            yield Found(name=name, indexes=sorted(indexes))


def read_object(results: Results, name: str, columns: Callable[[pa.Schema], list[str]] | None = None) -> pa.Table:
    """Read a Parquet object, or the columns that `columns` chooses; ResultsError if it is missing or damaged."""
    try:
        file = pq.ParquetFile(pa.BufferReader(results.store.read(name) or b""))
        chosen = None if columns is None else columns(file.schema_arrow)
        return file.read(chosen, use_threads=False)
    except (pa.ArrowException, OSError) as damage:
        raise ResultsError(
            f"{name} in the results store {results.store.url} is missing or damaged. Restore it from a backup."
        ) from damage


def _columns_in(schema: pa.Schema) -> list[str]:
    return [column for column in (*_NAMES, "proof_id") if column in schema.names]


def _indexes_of(item: str, rows: pa.Table) -> set[int]:
    indexes: set[int] = set()
    for column in (each for each in _NAMES if each in rows.column_names):
        wanted = pa.scalar(raw_bytes(item) if pa.types.is_binary(rows[column].type) else item, rows[column].type)
        indexes |= _where(pc.equal(rows[column], wanted))
    return indexes


def _where(is_found: pa.BooleanArray) -> set[int]:
    return {index for index in pc.indices_nonzero(is_found).to_pylist() if index is not None}
