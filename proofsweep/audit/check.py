"""What an audit finds of a store, run by run, when it has walked the log: it is read-only.

Of each run or operation its plan and receipts, each part that they name, and rows against the plan; and whether each
pruning was allowed.
"""

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pyarrow as pa
from pydantic import TypeAdapter

from proofsweep.audit.findings import Audit
from proofsweep.audit.line import Line, read_line
from proofsweep.audit.prunings import NeededAnswers, PruningRule
from proofsweep.config.threads import some_at_once, utc_now
from proofsweep.domain.errors import ResultsError
from proofsweep.domain.runs import Operation, OperationKind, Plan
from proofsweep.store import layout
from proofsweep.store.objects import REQUESTS_AT_ONCE, numbered, sha256_hex
from proofsweep.store.operations import is_complete, operation_of
from proofsweep.store.parts import SCHEMAS, Part, Results, conformed, table_of
from proofsweep.store.rows import with_instants
from proofsweep.store.tables import RECEIPTED, written_by

_UNREADABLE = (pa.ArrowException, OSError, KeyError, ValueError, IndexError)  # raised for bytes that are no part
_NO_DOCUMENT = (ResultsError, ValueError, TypeError, AttributeError, KeyError)  # for what is no plan, receipt, pruning


@dataclass(frozen=True, slots=True, kw_only=True)
class LegReceipt:
    leg: int
    ended_by: str
    counts: Mapping[str, Any]
    parts: Sequence[Part]
    plan_sha256: str


_RECEIPT = TypeAdapter(LegReceipt)


class RunAuditor:
    """Checks one run, or one operation, and reads its parts one by one."""

    def __init__(
        self, results: Results, run_id: str, line: Line, audit: Audit, needed: Sequence[NeededAnswers] = ()
    ) -> None:
        self._results, self._store, self._run_id, self._line, self._audit = results, results.store, run_id, line, audit
        self._needed = needed  # answers that its parts may have
        self._gone: frozenset[str] = frozenset()  # names of objects that prunings delete
        self.named = set[str]()  # the parts that its receipts account for

    def check(self) -> "dict[int, LegReceipt] | None":
        """Give the receipts of its legs; None if its plan or receipts are not what was written: no part is read then.

        ResultsError: the store is away.
        """
        plan_name, is_operation = layout.plan_name(self._run_id), bool(layout.kind_of(self._run_id))
        self._audit.operations += is_operation
        self._audit.runs += not is_operation
        told, content = self._line.digests.get(plan_name), self._store.read(plan_name)
        if told is not None and (content is None or told != sha256_hex(content)):
            return None  # a finding already
        try:
            run = operation_of(self._store, self._run_id) if is_operation else self._results.plan(self._run_id)
            digest = self._results.plan_digest(self._run_id)
        except _NO_DOCUMENT:
            self._audit.bad(plan_name, "is missing or cannot be read")
            return None
        receipts = self._receipts()
        if receipts is None:
            return None
        if any(receipt.plan_sha256 != digest for receipt in receipts.values()):
            self._audit.bad(plan_name, "was changed: the receipts of its legs name another digest of it")
            return None
        if receipts and isinstance(run, Plan):
            self._audit.legs += len(receipts)
            self._gone = self._pruned_names()
            self._check_rows(run, receipts)
            for receipt in receipts.values():
                self._check_runs_row(run, receipt)
        for table in ("exchanges", *([run.table] if isinstance(run, Operation) else [])):
            for _ in self._parts(table, receipts):
                continue
        return receipts

    def _receipts(self) -> dict[int, LegReceipt] | None:
        """Read the receipts of all legs; None if one is not as it was written, which a finding says."""
        found: dict[int, LegReceipt] = {}
        are_sound, run_id = True, self._run_id
        begun = self._line.begun.get(run_id, {})
        for leg in sorted({*begun}.union(numbered(self._store, layout.legs_folder(run_id)))):
            name = layout.receipt_name(run_id, leg)
            content, digest = self._store.read(name), self._line.digests.get(name)
            if content is None and digest is None:
                if leg in begun:
                    remedy = "then resume the run, or repeat the operation"
                    self._audit.note(run_id, f"leg {leg} has no receipt: it is at work, or was killed ({remedy})")
                continue
            if content is None or (digest is not None and digest != sha256_hex(content)):
                are_sound = False  # a finding already
                continue
            if digest is None and not self._line.has_begun(run_id, leg):
                self._audit.bad(name, "is of a leg that never began, as the log says")
            elif digest is None:
                self._audit.note(
                    name, "has no entry in the log yet: its leg is ending, or was killed then; the next one adds it"
                )
            try:
                found[leg] = _RECEIPT.validate_json(content)
            except ValueError:
                self._audit.bad(name, "cannot be read as a receipt")
                are_sound = False
        return found if are_sound else None

    def _parts(self, table: str, receipts: Mapping[int, LegReceipt]) -> Iterator[tuple[Part, pa.Table]]:
        """Yield the parts of a table that are there and sound."""
        for leg, receipt in receipts.items():
            for part in (each for each in receipt.parts if each.name.startswith(f"{table}/")):
                cells = {"run_id": self._run_id, "leg": leg} if table in RECEIPTED else {"operation_id": self._run_id}
                if (rows := self._rows_of(part, cells)) is not None:
                    yield part, rows

    def _rows_of(self, part: Part, cells: Mapping[str, object]) -> pa.Table | None:
        """Check a part; give its rows, None if they are gone or unreadable. `cells` are what each row has there."""
        content, audit = self._store.read(part.name), self._audit
        self.named.add(part.name)
        audit.parts += 1
        if self._is_pruned(part.name, content):
            audit.parts_pruned += 1
            if content is not None:
                audit.note(part.name, "is still there, though a pruning deletes it: repeat proofsweep prune")
            return None
        if content is None or sha256_hex(content) != part.sha256:
            is_changed = "was changed: no receipt names the sha256 that it has"
            audit.bad(part.name, "is missing; a receipt names it" if content is None else is_changed)
            return None
        try:
            schema, table = SCHEMAS[part.name.partition("/")[0]], table_of(content)
            if table.num_rows != part.rows:
                audit.bad(part.name, f"has {table.num_rows:,} rows; its receipt says {part.rows:,}")
            for column, value in cells.items():
                if set(table[column].unique().to_pylist()) - {value}:
                    audit.bad(part.name, f"holds a row of another {column.replace('_id', '')}")
            whole = conformed(table, schema)
            if any(whole[field.name].null_count for field in schema if not field.nullable):
                raise ValueError(part.name)
        except _UNREADABLE:
            audit.bad(part.name, "cannot be read as a part of its table")
            return None
        return whole

    def _is_pruned(self, name: str, content: bytes | None) -> bool:
        """Whether a pruning deletes an object, also one that came while the audit read."""
        if content is None and name not in self._gone:
            self._gone = self._pruned_names()
        return name in self._gone

    def _pruned_names(self) -> frozenset[str]:
        """Return what prunings delete."""
        try:
            return self._results.pruned_names(self._run_id)
        except (ResultsError, ValueError):
            self._audit.bad(self._run_id, "has a damaged pruning")
            return frozenset()

    def _check_rows(self, plan: Plan, receipts: Mapping[int, LegReceipt]) -> None:
        """Check that each row that has an answer was planned, for this item, and is answered once."""
        planned, is_answered = self._planned_items(plan), bytearray(plan.items)
        for part, table in self._parts("verdicts", receipts):
            self._audit.rows += table.num_rows
            for needed in self._needed:
                needed.take(plan.run_id, table)
            cells: dict[str, list[Any]] = table.select(["manifest_row", "item_id"]).to_pydict()
            for row, item_id in zip(*cells.values(), strict=True):
                what = None
                if not 0 <= row < plan.items:
                    what = f"has an answer for row {row}, which was not planned"
                elif is_answered[row]:
                    what = f"has a second answer for row {row}"
                elif planned is not None and planned[row] != hash(item_id):
                    what = f"has an answer for row {row}, which was planned for another item"
                if what is not None:
                    self._audit.bad(part.name, what)
                    break
                is_answered[row] = 1

    def _planned_items(self, plan: Plan) -> "array[int] | None":
        """Return a hash of the item of each row; None if they were pruned or cannot be read."""
        planned = array("q")
        for number, batch in enumerate(plan.batches):
            name = layout.items_name(plan.run_id, number)
            content = self._store.read(name)
            if self._is_pruned(name, content):
                return None
            try:
                table = table_of(content or b"").select(["manifest_row", "item_id"])
                rows, items = table["manifest_row"].to_pylist(), table["item_id"].to_pylist()
            except _UNREADABLE:
                rows, items = [], []
            if rows != list(batch):
                self._audit.bad(name, f"is not the list of the {len(batch):,} items that were planned")
                return None
            planned.extend(map(hash, items))
        return planned

    def _check_runs_row(self, plan: Plan, receipt: LegReceipt) -> None:
        """Check the row in `runs`, which is written before the leg ends in the log."""
        name = layout.runs_name(plan.run_id, plan.run_date, receipt.leg)
        self.named.add(name)
        content, receipt_name = self._store.read(name), layout.receipt_name(plan.run_id, receipt.leg)
        if content is None and receipt_name not in self._line.digests:
            return  # noted already
        try:
            (row,) = table_of(content or b"").to_pylist()
            said = with_instants("runs", dict(receipt.counts))
            differing = sorted(column for column in row if row[column] != said.get(column))
        except (*_UNREADABLE, TypeError):
            self._audit.bad(name, "is missing or cannot be read as the row of one leg")
            return
        if differing:
            self._audit.bad(name, f"says otherwise than the receipt of its leg: {', '.join(differing)}")


def audit_store(
    results: Results,
    run_id: str | None = None,
    head: str | None = None,
    progress: Callable[[str], None] = lambda _: None,
    clock: Callable[[], datetime] = utc_now,
) -> Audit:
    """Check the runs of a store against its log; with a run ID, only that run's parts are read.

    (1) the log is one line, has the head that was kept elsewhere, and each plan and receipt that it names is there, (2)
    each pruning was allowed, (3) each run and operation is as its receipts say, (4) no part lies in the tables that
    belongs to none of them. What is derived is not checked. ResultsError if there is no such run.
    """
    store, audit = results.store, Audit()
    run_ids = store.folders("_runs")
    if not run_ids or run_id not in {None, *run_ids} or layout.kind_of(run_id or ""):
        raise ResultsError(f"There is no run{'' if run_id is None else f' {run_id!r}'} in {store.url}.")
    line = read_line(store, head, audit)  # (1)
    rule = PruningRule(line, clock(), audit)
    contents = some_at_once(line.digests, store.read, REQUESTS_AT_ONCE)
    for (name, digest), content in zip(line.digests.items(), contents, strict=True):
        if content is None:
            audit.bad(name, "is missing; the log names it")
        elif digest != sha256_hex(content):
            audit.bad(name, "was changed: the log names another digest of it")
        else:
            rule.read(name, content)
    rule.check()  # (2)
    needed = rule.needed(results) if run_id is None else []
    receipts, named = dict[str, Mapping[int, LegReceipt] | None](), set[str]()
    for each in run_ids if run_id is None else [run_id]:
        is_known = layout.plan_name(each) in line.digests or store.folders(layout.legs_folder(each))
        if run_id is None and not is_known:
            continue  # a process was killed while it planned
        progress(each)
        auditor = RunAuditor(results, each, line, audit, needed)
        receipts[each] = auditor.check()  # (3)
        named |= auditor.named
    rule.check_answers(needed)
    names = (name for name in _listed(results, run_id) if name not in named)
    _check_owners(results, line, receipts, names, audit)  # (4)
    return audit


def _listed(results: Results, run_id: str | None) -> Iterator[str]:
    """List the parts of all tables, or of one run in those of its day."""
    if run_id is None:
        for table in (*written_by("leg"), *written_by("operation")):
            yield from results.all_parts(table)
        return
    with suppress(*_NO_DOCUMENT):
        for table in (*RECEIPTED, "runs"):
            names = results.store.names(layout.table_folder(table, results.plan(run_id).run_date))
            yield from (name for name in names if layout.run_of(name) == run_id)


def _check_owners(
    results: Results,
    line: Line,
    receipts: Mapping[str, Mapping[int, LegReceipt] | None],
    names: Iterable[str],
    audit: Audit,
) -> None:
    """See that each part that no receipt names is of a leg or an operation that works, or began meanwhile."""
    for name in names:
        run_id, table, leg = layout.run_of(name), name.partition("/")[0], layout.leg_of(name)
        if run_id not in receipts:
            if results.store.read(layout.plan_name(run_id)) is None:
                audit.bad(name, "belongs to no run or operation of this store")
            continue
        legs = receipts[run_id]
        # The row of a rotation is there before the leg that names it.
        is_rotating = layout.kind_of(run_id) == OperationKind.ROTATION and not is_complete(results, run_id)
        if legs is None or is_rotating:
            continue
        has_receipt = results.store.read(layout.receipt_name(run_id, leg)) is not None
        may_be = has_receipt if table == "runs" else line.has_begun(run_id, leg)
        if leg in legs or not may_be:
            audit.bad(name, "is named by no receipt")
