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
from proofsweep.store.objects import REQUESTS_AT_ONCE, Store, numbered, sha256_hex
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
        self._results = results
        self._store = results.store
        self._run_id = run_id
        self._line = line
        self._audit = audit
        self._needed = needed  # answers that its parts may have
        self._gone: frozenset[str] = frozenset()  # names of objects that prunings delete
        self.named = set[str]()  # the parts that its receipts account for

    def check(self) -> "dict[int, LegReceipt] | None":
        """Check the run, and return the receipts of its legs.

        None if its plan or a receipt is not what was written: then no part is read.

        ResultsError: the store is away.
        """
        if layout.kind_of(self._run_id):
            self._audit.operations += 1
        else:
            self._audit.runs += 1
        name = layout.plan_name(self._run_id)
        content = self._store.read(name)
        digest = self._line.digests.get(name)
        # A plan that is not as the log says is a finding already, and nothing can be held against it.
        if digest is not None and (content is None or digest != sha256_hex(content)):
            return None
        run = self._plan()
        if run is None or content is None:
            self._audit.bad(name, "is missing or cannot be read")
            return None
        receipts = self._receipts()
        if receipts is None:
            return None
        plan_sha256 = sha256_hex(content)
        if any(receipt.plan_sha256 != plan_sha256 for receipt in receipts.values()):
            self._audit.bad(name, "was changed: the receipts of its legs name another digest of it")
            return None
        self._check_tables(run, receipts)
        return receipts

    def _plan(self) -> Plan | Operation | None:
        with suppress(*_NO_DOCUMENT):
            if layout.kind_of(self._run_id):
                return operation_of(self._store, self._run_id)
            return self._results.plan(self._run_id)
        return None

    def _check_tables(self, run: Plan | Operation, receipts: Mapping[int, LegReceipt]) -> None:
        tables = ["exchanges"]
        if isinstance(run, Operation):
            tables.append(run.table)
        elif receipts:
            self._audit.legs += len(receipts)
            self._gone = self._pruned_names()
            self._check_rows(run, receipts)
            for receipt in receipts.values():
                self._check_runs_row(run, receipt)
        for table in tables:
            for _ in self._parts(table, receipts):
                continue

    def _receipts(self) -> dict[int, LegReceipt] | None:
        """Read the receipts of all legs; None if one is not as it was written, which a finding says."""
        receipts: dict[int, LegReceipt] = {}
        are_sound = True
        begun = self._line.begun.get(self._run_id, {})
        listed = numbered(self._store, layout.legs_folder(self._run_id))
        for leg in sorted({*begun, *listed}):
            name = layout.receipt_name(self._run_id, leg)
            content = self._store.read(name)
            digest = self._line.digests.get(name)
            if content is None and digest is None:
                if leg in begun:
                    remedy = "then resume the run, or repeat the operation"
                    what = f"leg {leg} has no receipt: it is at work, or was killed ({remedy})"
                    self._audit.add(self._run_id, what)
                continue
            if content is None or (digest is not None and digest != sha256_hex(content)):
                are_sound = False  # a finding already
                continue
            if digest is None:
                self._say_unlogged(name, leg)
            try:
                receipts[leg] = _RECEIPT.validate_json(content)
            except ValueError:
                self._audit.bad(name, "cannot be read as a receipt")
                are_sound = False
        return receipts if are_sound else None

    def _say_unlogged(self, receipt_name: str, leg: int) -> None:
        # A receipt is written before its entry. Without a leg that began, nobody was there to write it.
        if self._line.has_begun(self._run_id, leg):
            what = "has no entry in the log yet: its leg is ending, or was killed then; the next one adds it"
            self._audit.add(receipt_name, what)
        else:
            self._audit.bad(receipt_name, "is of a leg that never began, as the log says")

    def _parts(self, table: str, receipts: Mapping[int, LegReceipt]) -> Iterator[tuple[Part, pa.Table]]:
        """Yield the parts of a table that are there and sound."""
        for leg, receipt in receipts.items():
            cells: dict[str, object] = {"operation_id": self._run_id}
            if table in RECEIPTED:
                cells = {"run_id": self._run_id, "leg": leg}
            for part in receipt.parts:
                if part.name.startswith(f"{table}/"):
                    rows = self._rows_of(part, cells)
                    if rows is not None:
                        yield part, rows

    def _rows_of(self, part: Part, cells: Mapping[str, object]) -> pa.Table | None:
        """Check a part, and return its rows; None if they are gone or unreadable. Each row must have the `cells`."""
        audit = self._audit
        content = self._store.read(part.name)
        self.named.add(part.name)
        audit.parts += 1
        if self._is_pruned(part.name, content):
            audit.parts_pruned += 1
            if content is not None:
                audit.add(part.name, "is still there, though a pruning deletes it: repeat proofsweep prune")
            return None
        if content is None:
            audit.bad(part.name, "is missing; a receipt names it")
            return None
        if sha256_hex(content) != part.sha256:
            audit.bad(part.name, "was changed: no receipt names the sha256 that it has")
            return None
        try:
            return self._checked_rows(part, content, cells)
        except _UNREADABLE:
            audit.bad(part.name, "cannot be read as a part of its table")
            return None

    def _checked_rows(self, part: Part, content: bytes, cells: Mapping[str, object]) -> pa.Table:
        name, _, _ = part.name.partition("/")
        schema = SCHEMAS[name]
        table = table_of(content)
        if table.num_rows != part.rows:
            self._audit.bad(part.name, f"has {table.num_rows:,} rows; its receipt says {part.rows:,}")
        for column, value in cells.items():
            values = table[column].unique().to_pylist()
            if set(values) - {value}:
                self._audit.bad(part.name, f"holds a row of another {column.replace('_id', '')}")
        whole = conformed(table, schema)
        for field in schema:
            if not field.nullable and whole[field.name].null_count:
                raise ValueError(part.name)
        return whole

    def _is_pruned(self, name: str, content: bytes | None) -> bool:
        # A pruning may have come while the audit reads: what is missing is looked up once more.
        if content is None and name not in self._gone:
            self._gone = self._pruned_names()
        return name in self._gone

    def _pruned_names(self) -> frozenset[str]:
        try:
            return self._results.pruned_names(self._run_id)
        except (ResultsError, ValueError):
            self._audit.bad(self._run_id, "has a damaged pruning")
            return frozenset()

    def _check_rows(self, plan: Plan, receipts: Mapping[int, LegReceipt]) -> None:
        """Check that each row that has an answer was planned, for this item, and is answered once."""
        planned = self._planned_items(plan)
        is_answered = bytearray(plan.items)
        for part, table in self._parts("verdicts", receipts):
            self._audit.rows += table.num_rows
            for needed in self._needed:
                needed.add(plan.run_id, table)
            cells: dict[str, list[Any]] = table.select(["manifest_row", "item_id"]).to_pydict()
            for row, item_id in zip(*cells.values(), strict=True):
                what = None
                if not 0 <= row < plan.items:
                    what = f"has an answer for row {row}, which was not planned"
                elif is_answered[row]:
                    what = f"has a second answer for row {row}"
                elif planned is not None and planned[row] != hash(item_id):
                    what = f"has an answer for row {row}, which was planned for another item"
                # One finding for each part: of a part of another run, each row would be one.
                if what is not None:
                    self._audit.bad(part.name, what)
                    break
                is_answered[row] = 1

    def _planned_items(self, plan: Plan) -> "array[int] | None":
        """Return a hash of the item of each row; None if they were pruned or cannot be read."""
        # Hashes, since the text of ten million items needs a gigabyte.
        planned = array("q")
        for number, batch in enumerate(plan.batches):
            name = layout.items_name(plan.run_id, number)
            content = self._store.read(name)
            if self._is_pruned(name, content):
                return None
            try:
                table = table_of(content or b"")
                rows = table["manifest_row"].to_pylist()
                items = table["item_id"].to_pylist()
            except _UNREADABLE:
                rows, items = [], []
            if rows != list(batch):
                self._audit.bad(name, f"is not the list of the {len(batch):,} items that were planned")
                return None
            planned.extend(map(hash, items))
        return planned

    def _check_runs_row(self, plan: Plan, receipt: LegReceipt) -> None:
        name = layout.runs_name(plan.run_id, plan.run_date, receipt.leg)
        self.named.add(name)
        content = self._store.read(name)
        # The row is written before the leg ends in the log. Until then it may be missing, which is noted already.
        if content is None and layout.receipt_name(plan.run_id, receipt.leg) not in self._line.digests:
            return
        try:
            (row,) = table_of(content or b"").to_pylist()
            cells = with_instants("runs", dict(receipt.counts))
            differing = sorted(column for column in row if row[column] != cells.get(column))
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
    store = results.store
    audit = Audit()
    run_ids = store.folders("_runs")
    if not run_ids or run_id not in {None, *run_ids} or layout.kind_of(run_id or ""):
        named = "" if run_id is None else f" {run_id!r}"
        raise ResultsError(f"There is no run{named} in {store.url}.")
    line = read_line(store, head, audit)  # (1)
    rule = PruningRule(line, clock(), audit)
    _check_documents(store, line, rule, audit)
    rule.check()  # (2)
    needed = rule.needed(results) if run_id is None else []
    receipts = dict[str, Mapping[int, LegReceipt] | None]()
    named_parts = set[str]()
    for checked_id in run_ids if run_id is None else [run_id]:
        # A folder without a plan in the log and without a leg is of a process that was killed while it planned.
        is_planned = layout.plan_name(checked_id) in line.digests
        if run_id is None and not is_planned and not store.folders(layout.legs_folder(checked_id)):
            continue
        progress(checked_id)
        auditor = RunAuditor(results, checked_id, line, audit, needed)
        receipts[checked_id] = auditor.check()  # (3)
        named_parts |= auditor.named
    rule.check_answers(needed)
    unnamed = (name for name in _listed(results, run_id) if name not in named_parts)
    _check_owners(results, line, receipts, unnamed, audit)  # (4)
    return audit


def _check_documents(store: Store, line: Line, rule: PruningRule, audit: Audit) -> None:
    """See that each plan and receipt that the log names is as it says, and give the sound ones to the rule."""
    contents = some_at_once(line.digests, store.read, REQUESTS_AT_ONCE)
    for (name, digest), content in zip(line.digests.items(), contents, strict=True):
        if content is None:
            audit.bad(name, "is missing; the log names it")
        elif digest != sha256_hex(content):
            audit.bad(name, "was changed: the log names another digest of it")
        else:
            rule.read(name, content)


def _listed(results: Results, run_id: str | None) -> Iterator[str]:
    """List the parts of all tables, or of one run in those of its day."""
    # The parts of ingest and of monitoring are not listed: no receipt names them.
    if run_id is None:
        for table in (*written_by("leg"), *written_by("operation")):
            yield from results.all_parts(table)
        return
    with suppress(*_NO_DOCUMENT):
        for table in (*RECEIPTED, "runs"):
            folder = layout.table_folder(table, results.plan(run_id).run_date)
            for name in results.store.names(folder):
                if layout.run_of(name) == run_id:
                    yield name


def _check_owners(
    results: Results,
    line: Line,
    receipts: Mapping[str, Mapping[int, LegReceipt] | None],
    names: Iterable[str],
    audit: Audit,
) -> None:
    """See that each part that no receipt names is of a leg or an operation that works, or began meanwhile."""
    for name in names:
        run_id = layout.run_of(name)
        if run_id not in receipts:
            if results.store.read(layout.plan_name(run_id)) is None:
                audit.bad(name, "belongs to no run or operation of this store")
            continue
        legs = receipts[run_id]
        # The row of a rotation is there before the leg that names it.
        is_rotating = layout.kind_of(run_id) == OperationKind.ROTATION and not is_complete(results, run_id)
        if legs is None or is_rotating:
            continue
        leg = layout.leg_of(name)
        if leg in legs or not _may_be_at_work(results, line, name):
            audit.bad(name, "is named by no receipt")


def _may_be_at_work(results: Results, line: Line, name: str) -> bool:
    """Whether a part may be of a leg that still writes: the row in `runs` comes after the receipt, others before it."""
    run_id, leg = layout.run_of(name), layout.leg_of(name)
    if name.startswith("runs/"):
        return results.store.read(layout.receipt_name(run_id, leg)) is not None
    return line.has_begun(run_id, leg)
