"""Find the call of an operation that has a request ID: it belongs to no file."""

from collections.abc import Iterator
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from proofsweep.domain import layout
from proofsweep.domain.operations import Operation
from proofsweep.domain.support_packet import COLUMNS
from proofsweep.domain.tables.columns import Row
from proofsweep.storage.results.operations import Operations
from proofsweep.storage.results.plans_and_parts import Results
from proofsweep.usecases.explain.find_item import in_parallel

_COLUMNS = {"exchanges": COLUMNS, "probes": [name for name in COLUMNS if name != "bytes_sent"]}


def find_call(operations: Operations, request_id: str, since: str = "") -> tuple[Operation, Row] | None:
    """Give the call and its operation; None if no operation that sorts after an ID made such a call.

    Raises:
        ResultsError: the store cannot be read.
    """
    known = frozenset(operations.ids(since))
    for table in _COLUMNS:
        names = [name for name in operations.results.all_parts(table) if layout.run_of(name) in known]
        tables = in_parallel(names, partial(_calls_in, operations.results))
        for name, calls in zip(names, tables, strict=True):
            found = calls.filter(pc.field("request_id") == request_id).to_pylist()
            operation = operations.operation(layout.run_of(name)) if found else None
            if operation is not None:
                return operation, found[0]
    return None


def calls_of(operations: Operations, operation: Operation) -> Iterator[Row]:
    """Give all calls of an operation.

    Raises:
        ResultsError: a part cannot be read.
    """
    names = [name for name in operations.parts_of(operation) if name.partition("/")[0] in _COLUMNS]
    for name in names:
        yield from _calls_in(operations.results, name).to_pylist()


def _calls_in(results: Results, name: str) -> pa.Table:
    table = name.partition("/")[0]
    read = results.table(table, [name], _COLUMNS[table])
    is_whole = "bytes_sent" in read.column_names  # a probe sends no body
    return read if is_whole else read.append_column("bytes_sent", pa.array([0] * read.num_rows, pa.int64()))
