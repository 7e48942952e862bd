"""Find the call of an operation, or of monitoring, that has a request ID: it belongs to no file."""

from collections.abc import Iterator
from datetime import UTC, date, datetime
from functools import partial

import pyarrow.compute as pc

from proofsweep.domain import layout
from proofsweep.domain.operations import Operation
from proofsweep.domain.runs import new_run_id
from proofsweep.domain.support_packet import COLUMNS
from proofsweep.domain.tables.columns import Row
from proofsweep.storage.results.operations import Operations
from proofsweep.storage.results.plans_and_parts import Results
from proofsweep.storage.results.probes import read_probes
from proofsweep.usecases.explain.find_item import in_parallel, part_of

_OF_PROBES = [*(name for name in COLUMNS if name != "bytes_sent"), "operation_id", "environment", "base_url"]


def find_call(operations: Operations, request_id: str, since: datetime) -> tuple[Operation, Row] | None:
    """Give the call and its operation; None if no operation that began since, and no probe, made such a call.

    Raises:
        ResultsError: the store cannot be read.
    """
    known = frozenset(operations.ids(new_run_id(since, "")))
    names = [name for name in operations.results.all_parts("exchanges") if layout.run_of(name) in known]
    tables = in_parallel(names, partial(part_of, operations.results, COLUMNS))
    for name, calls in zip(names, tables, strict=True):
        found = calls.filter(pc.field("request_id") == request_id).to_pylist()
        operation = operations.operation(layout.run_of(name)) if found else None
        if operation is not None:
            return operation, found[0]
    return _find_probe(operations.results, request_id, since)


def calls_of(operations: Operations, operation: Operation) -> Iterator[Row]:
    """Give all calls of an operation; ResultsError if a part cannot be read."""
    for name in operations.parts_of(operation):
        if name.startswith("exchanges/"):
            yield from operations.results.table("exchanges", [name], COLUMNS).to_pylist()


def _find_probe(results: Results, request_id: str, since: datetime) -> tuple[Operation, Row] | None:
    """Give a probe and its pass of monitoring, in the form of a call and its operation."""
    oldest = since.astimezone(UTC).date()
    days = (date.fromisoformat(each.removeprefix("run_date=")) for each in results.store.folders("probes"))
    read = read_probes(results, _OF_PROBES, [day for day in days if day >= oldest])
    for row in read.filter(pc.field("request_id") == request_id).to_pylist():
        its_pass = Operation(
            operation_id=row["operation_id"],
            kind="monitoring",
            environment=row["environment"],
            base_url=row["base_url"] or "",
            started_at=row["started_at"],
        )
        return its_pass, row | {"bytes_sent": 0}  # a probe sends no body
    return None
