"""Check a results store, or one run of it: read-only, part by part."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress

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
    receipts: dict[str, Mapping[int, LegReceipt] | None] = {}
    for each in (each for each in run_ids if _was_planned(results.store, each)) if run_id is None else [run_id]:
        progress(each)
        receipts[each] = RunAuditor(results, each, line, audit).check()  # (2)
    _check_owners(results, receipts, _listed(results, run_id), audit)  # (3)
    return audit


def _was_planned(store: Store, run_id: str) -> bool:  # one that has planned items alone was not planned to the end
    return bool(store.read(layout.plan_name(run_id)) or store.folders(layout.legs_folder(run_id)))


def _named_by(results: Results, run_id: str, legs: Mapping[int, LegReceipt]) -> Iterator[str]:
    """Name the parts that the receipts of a run, or of an operation, account for."""
    yield from (part.name for receipt in legs.values() for part in receipt.parts)
    if not layout.kind_of(run_id):
        day = results.plan(run_id).run_date
        yield from (layout.runs_name(run_id, day, leg) for leg in legs)


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


def _check_owners(
    results: Results, receipts: Mapping[str, Mapping[int, LegReceipt] | None], names: Iterable[str], audit: Audit
) -> None:
    """See that each part is named by a receipt, or is of a leg or an operation that works, or began meanwhile."""
    store = results.store
    named = {name for run_id, legs in receipts.items() if legs for name in _named_by(results, run_id, legs)}
    for name in names:
        run_id, table, leg = layout.run_of(name), name.partition("/")[0], layout.leg_of(name)
        if run_id not in receipts:
            if store.read(layout.plan_name(run_id)) is None:
                audit.bad(name, "belongs to no run or operation of this store")
            continue
        legs = receipts[run_id]
        if legs is None or name in named or table == "ingest" or _is_rotating(store, run_id):
            continue
        sign = layout.receipt_name(run_id, leg) if table == "runs" else layout.lease_name(run_id, leg)
        if leg in legs or store.read(sign) is None:
            audit.bad(name, "is named by no receipt")


def _is_rotating(store: Store, run_id: str) -> bool:  # its row is there before the leg that names it
    return layout.kind_of(run_id) == OperationKind.ROTATION and not is_complete(store, run_id)
