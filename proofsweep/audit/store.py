"""Check a results store, or one run of it: read-only, part by part."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass

from proofsweep.audit.check import NO_DOCUMENT, Audit, LegReceipt, RunAuditor, read_line
from proofsweep.domain.errors import ResultsError
from proofsweep.domain.operations import OperationKind
from proofsweep.store import layout
from proofsweep.store.objects import Store
from proofsweep.store.operations import is_complete
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
    run and operation is as its receipts say, (3) no part lies in the tables that belongs to none of them. What
    is derived is not checked. ResultsError if there is no such run.
    """
    run_ids = results.store.folders("_runs")
    if not run_ids or run_id not in {None, *run_ids} or layout.kind_of(run_id or ""):
        raise ResultsError(f"There is no run{'' if run_id is None else f' {run_id!r}'} in {results.store.url}.")
    audit = Audit()
    line = read_line(results.store, head, audit)  # (1)
    owners: dict[str, _Owner | None] = {}
    for each in (each for each in run_ids if _was_planned(results.store, each)) if run_id is None else [run_id]:
        progress(each)
        receipts = RunAuditor(results, each, line, audit).check()  # (2)
        owners[each] = None if receipts is None else _owner_of(results, each, receipts)
    _check_owners(results, owners, _listed(results, run_id), audit)  # (3)
    return audit


@dataclass(frozen=True, slots=True)
class _Owner:
    """What the receipts of a run, or of an operation, account for."""

    names: AbstractSet[str]  # of parts
    legs: Mapping[int, LegReceipt]  # that have ended


def _was_planned(store: Store, run_id: str) -> bool:  # one that has planned items alone was not planned to the end
    return bool(store.read(layout.plan_name(run_id)) or store.folders(layout.legs_folder(run_id)))


def _owner_of(results: Results, run_id: str, receipts: Mapping[int, LegReceipt]) -> _Owner | None:
    names = {part.name for receipt in receipts.values() for part in receipt.parts}
    kind = layout.kind_of(run_id)
    if kind == OperationKind.ROTATION and not is_complete(results.store, run_id):
        return None  # its row is there before the leg that names it
    if not kind:
        day = results.plan(run_id).run_date
        names |= {layout.runs_name(run_id, day, leg) for leg in receipts}
    return _Owner(names, receipts)


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
