"""Check a results store, or one run of it: read-only, part by part."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass

from proofsweep.audit.check import NO_DOCUMENT, LegReceipt, RunAuditor, check_part, receipts_of
from proofsweep.audit.ledger import Audit, Line, read_line
from proofsweep.domain.errors import ResultsError
from proofsweep.domain.operations import OperationKind
from proofsweep.store import layout
from proofsweep.store.objects import Store
from proofsweep.store.operations import Operations
from proofsweep.store.parts import Results
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
    if not run_ids or run_id not in {None, *run_ids} or layout.kind_of(run_id or ""):
        raise ResultsError(f"There is no run{'' if run_id is None else f' {run_id!r}'} in {results.store.url}.")
    audit = Audit()
    line = read_line(results.store, head, audit)  # (1)
    owners: dict[str, _Owner | None] = {}
    planned = (each for each in run_ids if not layout.kind_of(each) and _was_planned(results.store, each))
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
    legs: Mapping[int, LegReceipt]  # that have ended


def _was_planned(store: Store, run_id: str) -> bool:  # one that has planned items alone was not planned to the end
    return bool(store.read(layout.plan_name(run_id)) or store.folders(layout.legs_folder(run_id)))


def _owner_of_run(results: Results, run_id: str, receipts: Mapping[int, LegReceipt]) -> _Owner:
    day = results.plan(run_id).run_date
    names = {part.name for receipt in receipts.values() for part in receipt.parts}
    return _Owner(frozenset(names | {layout.runs_name(run_id, day, leg) for leg in receipts}), receipts)


def _check_operation(operations: Operations, operation_id: str, line: Line, audit: Audit) -> _Owner | None:
    """Give what an operation accounts for; None if its plan or receipts are not what was written, or it is not over."""
    audit.operations += 1
    store, plan_name = operations.results.store, layout.plan_name(operation_id)
    try:
        digest, operation = operations.results.plan_digest(operation_id), operations.operation(operation_id)
    except NO_DOCUMENT:
        operation = None
    if operation is None:
        audit.bad(plan_name, "is missing or cannot be read")
        return None
    receipts = receipts_of(store, operation_id, line, audit, "the next operation of its kind ends it")
    if receipts is None:
        return None
    if any(receipt.plan_sha256 != digest for receipt in receipts.values()):
        audit.bad(plan_name, "was changed: the receipts of its legs name another digest of it")
        return None
    for receipt in receipts.values():
        name = layout.receipt_name(operation_id, receipt.leg)
        if line.lacks(name):
            audit.note(name, "has no entry in the ledger: its process was killed after it; the next operation adds it")
        for part in receipt.parts:
            table = part.name.partition("/")[0]
            if not part.name.startswith(f"{layout.table_folder(table, operation.run_date)}/{operation_id}-"):
                audit.bad(name, f"names {part.name}, which is no part of its operation")
            owner = "run_id" if table == "exchanges" else "operation_id"
            check_part(store, part, {owner: operation_id}, "operation", audit)
    if operation.kind == OperationKind.ROTATION and not operations.is_complete(operation_id):
        return None  # its row is there before the leg that names it
    return _Owner(frozenset(part.name for receipt in receipts.values() for part in receipt.parts), receipts)


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
            if store.read(layout.plan_name(run_id)) is None:
                audit.bad(name, "belongs to no run or operation of this store")
            continue
        owner, leg = owners[run_id], layout.leg_of(name)
        if owner is None or name in owner.names or table == "ingest":
            continue
        sign = layout.receipt_name(run_id, leg) if table == "runs" else layout.lease_name(run_id, leg)
        if leg in owner.legs or store.read(sign) is None:
            audit.bad(name, "is named by no receipt")
