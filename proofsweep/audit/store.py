"""Check a results store, or one run of it: read-only, part by part."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime
from itertools import zip_longest
from typing import Any

import pyarrow as pa

from proofsweep.audit.check import RunAuditor, check_part
from proofsweep.audit.receipts import Audit, check_head, read_graph
from proofsweep.domain.errors import ResultsError
from proofsweep.domain.operations import operation_of
from proofsweep.store import layout
from proofsweep.store.objects import Store
from proofsweep.store.operations import Operations
from proofsweep.store.parts import Part, Results, receipted_parts
from proofsweep.store.snapshot import COLUMNS, Snapshot, legs_in, reduced
from proofsweep.store.tables import written_by
from proofsweep.verify.history import LegRows

_STEP_ROWS = 5_000  # of the snapshot, compared at once


def audit_store(
    results: Results,
    run_id: str | None = None,
    head: str | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> Audit:
    """Check the runs of a store against their receipts; with a run ID, only that run's parts are read.

    (1) receipts hold each other, (2) each run and operation is as its receipts say, (3) no part lies in
    the tables that belongs to none of them, (4) the snapshot is that of the parts, (5) the store has what a head that
    was kept elsewhere holds. ResultsError if there is no such run.
    """
    run_ids = results.store.folders("_runs")
    if not (run_ids or Operations(results).ids()) or run_id not in {None, *run_ids}:
        raise ResultsError(f"There is no run{'' if run_id is None else f' {run_id!r}'} in {results.store.url}.")
    audit = Audit()
    graph = read_graph(results.store, run_ids, audit)  # (1)
    audit.head = graph.head
    held, now = {link.name for links in graph.links.values() for link in links}, datetime.now(UTC)
    planned = (each for each in run_ids if _was_planned(results.store, each))
    for each in planned if run_id is None else [run_id]:
        progress(each)
        RunAuditor(results, each, audit).check(held, now)  # (2)
    if run_id is None:
        operations = Operations(results)
        named = {each: _check_operation(operations, each, audit) for each in operations.ids()}
        _check_unreferenced_parts(results, set(run_ids), named, audit)  # (3)
        if not audit.wrong:  # else it need not fit the parts
            _check_snapshot(results, audit)  # (4)
    if head is not None:
        check_head(graph, head, audit)  # (5)
    return audit


def _was_planned(store: Store, run_id: str) -> bool:  # one that has shards alone was not planned to the end
    return bool(store.read(layout.plan_name(run_id)) or store.folders(layout.legs_folder(run_id)))


def _check_unreferenced_parts(
    results: Results, run_ids: set[str], operations: Mapping[str, Collection[str] | None], audit: Audit
) -> None:
    """`operations` has the parts of each operation by its receipt; None without one."""
    days: dict[str, date] = {}
    for each in run_ids:
        with suppress(ResultsError, ValueError, TypeError, KeyError):
            days[each] = results.plan(each).run_date
    for table in written_by("leg"):
        for name in results.all_parts(table):
            owner = layout.run_of(name)
            if owner in operations:
                _check_named(name, operations, results.store, audit)
            elif owner not in run_ids:
                audit.bad(name, "belongs to no run of this store")
            elif owner in days and name.rpartition("/")[0] != layout.table_folder(table, days[owner]):
                audit.bad(name, "lies in the folder of a day that is not that of its run")
    for name in (name for table in written_by("operation") for name in results.all_parts(table)):
        _check_named(name, operations, results.store, audit)


def _check_operation(operations: Operations, operation_id: str, audit: Audit) -> Collection[str] | None:
    audit.operations += 1
    try:
        receipt = operations.receipt(operation_id)
        parts = None if receipt is None else _parts_of(receipt, operation_id)
    except (ResultsError, KeyError, ValueError, TypeError):
        name = layout.operation_receipt_name(operation_id)
        audit.bad(name, "cannot be read as the receipt of its operation")
        return ()
    if parts is None:
        audit.note(operation_id, "this operation has no receipt: it is at work, or was killed")
        return None
    for part in parts:
        owner = "run_id" if part.name.startswith("exchanges/") else "operation_id"
        check_part(operations.results.store, part, {owner: operation_id}, "operation", audit)
    return {part.name for part in parts}


def _check_named(name: str, operations: Mapping[str, Collection[str] | None], store: Store, audit: Audit) -> None:
    owner = layout.run_of(name)
    named = operations.get(owner)
    if owner not in operations:
        if store.read(layout.operation_intent_name(owner)) is None:  # else it began while the audit read
            audit.bad(name, "belongs to no operation of this store: each writes an intent before its first call")
    elif named is not None and name not in named:
        audit.bad(name, "is not named by the receipt of its operation")


def _parts_of(receipt: Mapping[str, Any], operation_id: str) -> list[Part]:
    operation = operation_of(receipt)
    parts = receipted_parts(receipt)
    tables = {part.name.partition("/")[0] for part in parts}
    folders = {layout.table_folder(table, operation.run_date) for table in tables}
    if operation.operation_id != operation_id or {part.name.rpartition("/")[0] for part in parts} - folders:
        raise ValueError(operation_id)
    return parts


def _check_snapshot(results: Results, audit: Audit) -> None:
    """Reduce the rows of the legs in the snapshot anew, and compare; a store without a snapshot passes."""
    snapshot = Snapshot(results.store)
    try:
        entries = snapshot.entries()
        made = reduced(_rows_of(results, legs_in(entries)))
        pairs = zip_longest(_steps(snapshot.rows(entries=entries)), _steps(made))
        is_same = not entries or all(one is not None and one.equals(other) for one, other in pairs)
    except (ResultsError, pa.ArrowException, OSError, ValueError, TypeError, KeyError, AttributeError):
        is_same = False
    if not is_same:
        what = "does not hold the newest answers of the parts of verdicts: it is derived, so delete the folder"
        audit.bad(layout.SNAPSHOT_FOLDER, what)


def _rows_of(results: Results, legs: Mapping[str, Sequence[int]]) -> Iterator[pa.Table]:
    for run_id, its_legs in legs.items():
        yield from LegRows(results, results.plan(run_id), its_legs)


def _steps(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    rest: pa.Table | None = None
    for table in tables:
        rows = table.select(list(COLUMNS))
        rest = rows if rest is None else pa.concat_tables([rest, rows])
        while rest.num_rows >= _STEP_ROWS:
            yield rest.slice(0, _STEP_ROWS)
            rest = rest.slice(_STEP_ROWS)
    if rest is not None and rest.num_rows:
        yield rest
