"""Check the parts of operations against their receipts: bytes, rows, and whose rows they are."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from proofsweep.domain import layout
from proofsweep.domain.audit.findings import Checked, Findings
from proofsweep.domain.operations import operation_of
from proofsweep.domain.pruning import PrunedObject
from proofsweep.errors import ResultsError
from proofsweep.storage.results.operations import Operations, receipted_parts
from proofsweep.storage.results.plans_and_parts import sha256_hex
from proofsweep.storage.results.receipts import Part
from proofsweep.usecases.audit.exceptions import Redactions, read_prunings
from proofsweep.usecases.audit.merged_rounds import RowsOfRounds, check_rows_of_rounds, rows_of_rounds
from proofsweep.usecases.audit.parts import UNREADABLE, check_pruned, check_redacted_rows, is_recorded, with_all_columns


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationAuditor:
    """Checks the operations of one store.

    Attributes:
        redactions: of the whole store.
        pruned: what prunings deleted of an operation, by name.
    """

    operations: Operations
    redactions: Redactions
    findings: Findings
    checked: Checked
    pruned: dict[str, PrunedObject] = field(default_factory=dict)

    def check_all(self, operation_ids: Sequence[str]) -> Mapping[str, Collection[str] | None]:
        """Check all operations; give the parts that each one's receipt names, None without a receipt."""
        store = self.operations.results.store
        for pruned_id in sorted({*operation_ids} & {*store.folders(layout.PRUNED_FOLDER)}):
            self.pruned.update(read_prunings(store, pruned_id, self.findings))
        return {operation_id: self._check(operation_id) for operation_id in operation_ids}

    def _check(self, operation_id: str) -> Collection[str] | None:
        self.checked.operations += 1
        try:
            receipt = self.operations.receipt(operation_id)
            parts = None if receipt is None else _parts_of(receipt, operation_id)
        except (ResultsError, KeyError, ValueError, TypeError):
            name = layout.operation_receipt_name(operation_id)
            self.findings.bad(name, "cannot be read as the receipt of its operation")
            return ()
        if parts is None:
            self.findings.note(operation_id, "this operation has no receipt: it is at work, or was killed")
            return None
        merged = self._merged(operation_id, receipt or {})
        for part in parts:
            self._check_part(part, operation_id, merged)
        return {part.name for part in parts}

    def _merged(self, operation_id: str, receipt: Mapping[str, object]) -> RowsOfRounds | None:
        """Give the rows of merged rounds; None if the operation has none, or if they were pruned."""
        if "rounds_sha256" not in receipt or layout.rounds_name(operation_id) in self.pruned:
            return None
        return rows_of_rounds(self.operations.results.store, operation_id, receipt, self.findings)

    def _check_part(self, part: Part, operation_id: str, merged: RowsOfRounds | None) -> None:
        self.checked.parts += 1
        content, steps = self.operations.results.store.read(part.name), self.redactions.of(part.name)
        if part.name in self.pruned:
            check_pruned(part, self.pruned[part.name], content, self.findings, self.checked)
        elif content is None and self.operations.receipt(operation_id) is None:
            self.findings.note(part.name, "was merged into the rounds of its day while the audit read it")
        elif content is None:
            self.findings.bad(part.name, "is missing; the receipt of its operation names it")
        elif not is_recorded(part, sha256_hex(content), steps, self.findings):
            self.findings.bad(part.name, "was changed: its sha256 is not the one in the receipt of its operation")
        else:
            self._check_rows(content, part, operation_id, merged)

    def _check_rows(self, content: bytes, part: Part, operation_id: str, merged: RowsOfRounds | None) -> None:
        table = part.name.partition("/")[0]
        try:
            read = pq.ParquetFile(pa.BufferReader(content)).read(use_threads=False)
            check_redacted_rows(part.name, read, self.redactions.of(part.name), None, self.findings)
            rows = with_all_columns(read, table)
            owners = set(rows["run_id" if table == "exchanges" else "operation_id"].unique().to_pylist())
        except UNREADABLE:
            self.findings.bad(part.name, "cannot be read as a part of its table")
            return
        if rows.num_rows != part.rows:
            said = f"the receipt of its operation says {part.rows:,}"
            self.findings.bad(part.name, f"has {rows.num_rows:,} rows; {said}")
        if merged is not None:
            check_rows_of_rounds(part.name, rows, merged, self.findings)
        elif owners - {operation_id}:
            self.findings.bad(part.name, "holds a row of another operation")


def check_named(name: str, operations: Mapping[str, Collection[str] | None], findings: Findings) -> None:
    """Check that a part of an operation is one that its receipt names, if it has one."""
    owner = layout.run_of(name)
    if owner not in operations:  # monitoring has no intent
        findings.note(name, "belongs to an operation without a receipt: it is at work, or was killed")
        return
    named = operations[owner]
    if named is not None and name not in named:
        findings.bad(name, "is not named by the receipt of its operation")


def _parts_of(receipt: Mapping[str, Any], operation_id: str) -> list[Part]:
    operation = operation_of(receipt)
    parts = receipted_parts(receipt)
    tables = {part.name.partition("/")[0] for part in parts}
    folders = {layout.table_folder(table, operation.run_date) for table in tables}
    if operation.operation_id != operation_id or {part.name.rpartition("/")[0] for part in parts} - folders:
        raise ValueError(operation_id)
    return parts
