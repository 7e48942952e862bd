"""Check a results store, or one run of it: read-only, part by part."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass

from proofsweep.audit.check import NO_DOCUMENT, LegReceipt, RunAuditor, check_part
from proofsweep.audit.ledger import Audit, Line, read_line
from proofsweep.domain.errors import ResultsError
from proofsweep.domain.operations import operation_of
from proofsweep.store import layout
from proofsweep.store.objects import Store, sha256_hex
from proofsweep.store.operations import Operations
from proofsweep.store.parts import Results, receipted_parts
from proofsweep.store.tables import RECEIPTED, written_by


def audit_store(
    results: Results,
    run_id: str | None = None,
    head: str | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> Audit:
    """Check the runs of a store against the ledger; with a run ID, only that run's parts are read.

    (1) the ledger is one line, has the head that was kept elsewhere, and each receipt that it names is there, (2) each
    run and (3) each operation is as its receipts say, (4) no part lies in the tables that belongs to none of them. What
    is derived is not checked. ResultsError if there is no such run.
    """
    run_ids, operations = results.store.folders("_runs"), Operations(results)
    if not (run_ids or operations.ids()) or run_id not in {None, *run_ids}:
        raise ResultsError(f"There is no run{'' if run_id is None else f' {run_id!r}'} in {results.store.url}.")
    audit = Audit()
    line = read_line(results.store, head, audit)  # (1)
    owners: dict[str, _Owner | None] = {}
    planned = (each for each in run_ids if _was_planned(results.store, each))
    for each in planned if run_id is None else [run_id]:
        progress(each)
        receipts = RunAuditor(results, each, line, audit).check()  # (2)
        owners[each] = None if receipts is None else _owner_of_run(results, each, receipts)
    if run_id is None:
        owners |= {each: _check_operation(operations, each, line, audit) for each in operations.ids()}  # (3)
    _check_owners(results, owners, _listed(results, run_id), audit)  # (4)
    return audit


@dataclass(frozen=True, slots=True)
class _Owner:
    """What the receipts of a run, or of an operation, account for."""

    names: frozenset[str]  # of parts
    legs: Mapping[int, LegReceipt]  # that have ended; none of an operation


def _was_planned(store: Store, run_id: str) -> bool:  # one that has planned items alone was not planned to the end
    return bool(store.read(layout.plan_name(run_id)) or store.folders(layout.legs_folder(run_id)))


def _owner_of_run(results: Results, run_id: str, receipts: Mapping[int, LegReceipt]) -> _Owner:
    day = results.plan(run_id).run_date
    names = {part.name for receipt in receipts.values() for part in receipt.parts}
    return _Owner(frozenset(names | {layout.runs_name(run_id, day, leg) for leg in receipts}), receipts)


def _check_operation(operations: Operations, operation_id: str, line: Line, audit: Audit) -> _Owner | None:
    """Give what an operation accounts for; None if it is at work, or its receipt is not what was written."""
    audit.operations += 1
    store, name = operations.results.store, layout.operation_receipt_name(operation_id)
    content = store.read(name)
    if content is None and name not in line.entries:
        audit.note(operation_id, "this operation has no receipt: it is at work, or was killed")
    if content is None or line.says(name, content) is False:
        return None
    try:
        receipt = operations.receipt(operation_id) or {}
        parts, operation = receipted_parts(receipt), operation_of(receipt)
        days = {part.name.rpartition("/")[0] for part in parts}
        days -= {layout.table_folder(day.partition("/")[0], operation.run_date) for day in days}
        if days or operation.operation_id != operation_id:
            raise ValueError(operation_id)
    except NO_DOCUMENT:
        audit.bad(name, "cannot be read as the receipt of its operation")
        return None
    if line.lacks(name):
        audit.note(name, "has no entry in the ledger: its process was killed after it; the next operation adds it")
    intent = layout.operation_intent_name(operation_id)
    if receipt.get("intent_sha256") != sha256_hex(store.read(intent) or b""):
        audit.bad(intent, "is missing or was changed: the receipt of its operation names another digest of it")
    for part in parts:
        owner = "run_id" if part.name.startswith("exchanges/") else "operation_id"
        check_part(store, part, {owner: operation_id}, "operation", audit)
    return _Owner(frozenset(part.name for part in parts), {})


def _listed(results: Results, run_id: str | None) -> Iterator[str]:
    """List the parts of all tables, or of one run in those of its day."""
    if run_id is None:
        for table in (*written_by("leg"), *written_by("operation")):
            yield from results.all_parts(table)
        return
    with suppress(*NO_DOCUMENT):
        for table in (*RECEIPTED, "runs"):
            names = results.store.names(layout.table_folder(table, results.plan(run_id).run_date))
            yield from (name for name in names if layout.run_of(name) == run_id)


def _check_owners(results: Results, owners: Mapping[str, _Owner | None], names: Iterable[str], audit: Audit) -> None:
    """See that each part is named by a receipt, or is of a leg or an operation that works, or began meanwhile."""
    store = results.store
    for name in names:
        run_id, table = layout.run_of(name), name.partition("/")[0]
        if run_id not in owners:
            begun = (layout.plan_name(run_id), layout.operation_intent_name(run_id))
            if not any(map(store.read, begun)):
                audit.bad(name, "belongs to no run or operation of this store")
            continue
        owner, leg = owners[run_id], layout.leg_of(name)
        if owner is None or name in owner.names or table == "ingest":
            continue
        sign = layout.receipt_name(run_id, leg) if table == "runs" else layout.lease_name(run_id, leg)
        if leg in owner.legs or store.read(sign) is None:
            audit.bad(name, "is named by no receipt")
