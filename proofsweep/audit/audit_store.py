"""Check a results store, or one run of it: read-only, part by part."""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from proofsweep.audit.audit_operations import OperationAuditor, check_named
from proofsweep.audit.audit_run import Known, audit_run
from proofsweep.audit.check_parts import PartAuditor
from proofsweep.audit.check_snapshot import check_snapshot
from proofsweep.audit.exceptions import Redactions, read_redactions
from proofsweep.audit.findings import Audit, Checked, Findings
from proofsweep.audit.heads import check_head, read_graph
from proofsweep.audit.signatures import check_signatures
from proofsweep.errors import ResultsError
from proofsweep.model import layout
from proofsweep.model.redaction import MARKER
from proofsweep.store.operations import Operations
from proofsweep.store.plans_and_parts import OPERATION_TABLES, Results, sha256_hex
from proofsweep.store.store import Store

_TABLES = ("verdicts", "exchanges", "runs", "drift")


def audit_store(
    results: Results,
    run_id: str | None = None,
    head: str | None = None,
    signed_by: Ed25519PublicKey | None = None,
    progress: Callable[[str], None] = lambda _: None,
    *,
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> Audit:
    """Check the runs of a store against their receipts.

    (1) redactions and receipts hold each other, (2) each run and operation is as its receipts say, (3) no part lies in
    the tables that belongs to none of them, (4) the snapshot is that of the parts, (5) the store has what a head that
    was kept elsewhere holds, or a signed audit.

    Args:
        results: where the runs are.
        run_id: the only run whose parts are read; None reads all.
        head: as an earlier audit or an alert gave it.
        signed_by: the key that signed audits of this store; None looks at none of them.
        progress: is told each run before it is read.
        clock: tells what cannot have been written yet.

    Raises:
        ResultsError: there is no such run, or the store cannot be read.
    """
    run_ids = results.store.folders("_runs")
    if not (run_ids or Operations(results).ids()) or run_id not in {None, *run_ids}:
        raise ResultsError(f"There is no run{'' if run_id is None else f' {run_id!r}'} in {results.store.url}.")
    findings, checked = Findings(), Checked()
    redactions = read_redactions(results.store, findings)
    graph = read_graph(results.store, run_ids, redactions, findings)  # (1)
    held = {link.name for links in graph.links.values() for link in links}
    known = Known(redactions=redactions, held=held, now=clock())
    for each in _existing(results.store, run_ids) if run_id is None else [run_id]:
        progress(each)
        audit_run(results, each, known, findings, checked)  # (2)
    if run_id is None:
        _audit_beside_runs(results, run_ids, redactions, findings, checked)
    if head is not None:
        check_head(graph, head, findings)  # (5)
    if signed_by is not None:
        check_signatures(results.store, signed_by, graph, findings)
    return Audit(head=graph.head, checked=checked, wrong=findings.wrong, notes=findings.notes)


def _audit_beside_runs(
    results: Results, run_ids: Sequence[str], redactions: Redactions, findings: Findings, checked: Checked
) -> None:
    operations = Operations(results)
    auditor = PartAuditor(store=results.store, pruned={}, redactions=redactions, findings=findings, checked=checked)
    named = OperationAuditor(operations=operations, auditor=auditor).check_all(operations.ids())
    _check_strays(results, set(run_ids), named, findings)  # (3)
    receipted = {name for parts in named.values() for name in parts or ()}
    _check_other_objects(results.store, redactions, receipted, findings)
    if not findings.wrong:  # else it need not fit the parts
        check_snapshot(results, findings)  # (4)


def _existing(store: Store, run_ids: Sequence[str]) -> list[str]:
    """Leave out the runs that were never planned to their end: shards without a plan and without a leg."""
    return [each for each in run_ids if store.read(layout.plan_name(each)) or store.folders(layout.legs_folder(each))]


def _check_strays(
    results: Results, run_ids: set[str], operations: Mapping[str, Collection[str] | None], findings: Findings
) -> None:
    """Look for parts of unknown runs and operations, or in the folder of a day that is not that of their run.

    `operations` has the parts of each operation by its receipt; None without one.
    """
    days: dict[str, date] = {}
    for each in run_ids:
        with suppress(ResultsError, ValueError, TypeError, KeyError):
            days[each] = results.plan(each).run_date
    for table in _TABLES:
        for name in results.all_parts(table):
            owner = layout.run_of(name)
            if owner in operations:
                check_named(name, operations, results.store, findings)
            elif owner not in run_ids:
                findings.bad(name, "belongs to no run of this store")
            elif owner in days and name.rpartition("/")[0] != layout.table_folder(table, days[owner]):
                findings.bad(name, "lies in the folder of a day that is not that of its run")
    for name in (name for table in OPERATION_TABLES for name in results.all_parts(table)):
        check_named(name, operations, results.store, findings)


def _check_other_objects(store: Store, redactions: Redactions, receipted: Collection[str], findings: Findings) -> None:
    """Hold the redacted objects that no receipt of a leg or an operation names against the redactions' digests."""
    for name, steps in redactions.steps.items():
        completed, content = steps[-1].completed, store.read(name)
        if name.startswith("verdicts/") or name in receipted or completed is None or content is None:
            continue  # its receipt names it, the redaction is a finding already, or a pruning deleted it
        if sha256_hex(content) != completed.objects.get(name):
            findings.bad(name, f"was changed after its content was {MARKER}")
