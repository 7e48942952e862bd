"""Check the parts of operations against their receipts: bytes, rows, and whose rows they are."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from proofsweep.domain import layout
from proofsweep.domain.audit.findings import Checked, Findings
from proofsweep.domain.operations import operation_of
from proofsweep.errors import ResultsError
from proofsweep.storage.results.operations import Operations, receipted_parts
from proofsweep.storage.results.plans_and_parts import sha256_hex
from proofsweep.storage.results.receipts import Part
from proofsweep.storage.results.store import Store
from proofsweep.usecases.audit.exceptions import Redactions
from proofsweep.usecases.audit.parts import UNREADABLE, check_redacted_rows, is_recorded, with_all_columns


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationAuditor:
    """Checks the operations of one store.

    Attributes:
        redactions: of the whole store.
    """

    operations: Operations
    redactions: Redactions
    findings: Findings
    checked: Checked

    def check_all(self, operation_ids: Sequence[str]) -> Mapping[str, Collection[str] | None]:
        """Check all operations; give the parts that each one's receipt names, None without a receipt."""
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
        for part in parts:
            self._check_part(part, operation_id)
        return {part.name for part in parts}

    def _check_part(self, part: Part, operation_id: str) -> None:
        self.checked.parts += 1
        content, steps = self.operations.results.store.read(part.name), self.redactions.of(part.name)
        if content is None:
            self.findings.bad(part.name, "is missing; the receipt of its operation names it")
        elif not is_recorded(part, sha256_hex(content), steps, self.findings):
            self.findings.bad(part.name, "was changed: its sha256 is not the one in the receipt of its operation")
        else:
            self._check_rows(content, part, operation_id)

    def _check_rows(self, content: bytes, part: Part, operation_id: str) -> None:
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
        if owners - {operation_id}:
            self.findings.bad(part.name, "holds a row of another operation")


def check_named(name: str, operations: Mapping[str, Collection[str] | None], store: Store, findings: Findings) -> None:
    """Check that a part of an operation is one that its receipt names, if it has one."""
    owner = layout.run_of(name)
    named = operations.get(owner)
    if owner not in operations:
        if store.read(layout.operation_intent_name(owner)) is None:  # else it began while the audit read
            findings.bad(name, "belongs to no operation of this store: each writes an intent before its first call")
    elif named is not None and name not in named:
        findings.bad(name, "is not named by the receipt of its operation")


def _parts_of(receipt: Mapping[str, Any], operation_id: str) -> list[Part]:
    operation = operation_of(receipt)
    parts = receipted_parts(receipt)
    tables = {part.name.partition("/")[0] for part in parts}
    folders = {layout.table_folder(table, operation.run_date) for table in tables}
    if operation.operation_id != operation_id or {part.name.rpartition("/")[0] for part in parts} - folders:
        raise ValueError(operation_id)
    return parts
