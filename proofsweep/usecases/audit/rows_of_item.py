"""Find the rows of one item: in every part of `verdicts` and `ingest`, and among the planned items."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from proofsweep.domain import layout
from proofsweep.domain.items import raw_bytes
from proofsweep.errors import ResultsError
from proofsweep.storage.results.plans_and_parts import Results

_NAMES = ("item_id", "former_item_id", "audio")
"""The columns by which an item is found: its ID, its earlier ID, and its location."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The rows of an item in one object, by their places in it, counted from 0."""

    name: str
    places: Sequence[int]


def rows_of_item(results: Results, item: str) -> Iterator[Found]:
    """Find an item in the tables, part by part.

    Raises:
        ResultsError: a part cannot be read.
    """
    for table in ("verdicts", "ingest"):
        for name in results.all_parts(table):
            yield from _found_in(results, name, item)


def planned_rows_of_item(results: Results, item: str, run_ids: Sequence[str]) -> Iterator[Found]:
    """Find an item in the plans of some runs, shard by shard.

    Raises:
        ResultsError: a shard cannot be read.
    """
    for run_id in run_ids:
        for name in results.store.names(layout.shards_folder(run_id)):
            yield from _found_in(results, name, item)


def read_object(results: Results, name: str, columns: Callable[[pa.Schema], list[str]] | None = None) -> pa.Table:
    """Read a Parquet object as it is; with `columns`, only those that it chooses from the schema.

    Raises:
        ResultsError: it is missing or damaged.
    """
    try:
        file = pq.ParquetFile(pa.BufferReader(results.store.read(name) or b""))
        chosen = None if columns is None else columns(file.schema_arrow)
        return file.read(chosen, use_threads=False)
    except (pa.ArrowException, OSError) as damage:
        raise ResultsError(
            f"{name} in the results store {results.store.url} is missing or damaged. Restore it from a backup."
        ) from damage


def _found_in(results: Results, name: str, item: str) -> Iterator[Found]:
    table = read_object(results, name, lambda schema: [column for column in _NAMES if column in schema.names])
    places: set[int] = set()
    for column in table.column_names:
        wanted = pa.scalar(raw_bytes(item) if pa.types.is_binary(table[column].type) else item, table[column].type)
        places |= {
            place for place in pc.indices_nonzero(pc.equal(table[column], wanted)).to_pylist() if place is not None
        }
    if places:
        yield Found(name=name, places=sorted(places))
