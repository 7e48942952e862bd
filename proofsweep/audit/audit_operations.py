"""Check the parts of operations against their receipts: bytes, rows, and whose rows they are."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from proofsweep.audit.check_parts import PartAuditor
from proofsweep.audit.findings import Findings
from proofsweep.errors import ResultsError
from proofsweep.model import layout
from proofsweep.model.operations import operation_of
from proofsweep.store.operations import Operations, receipted_parts
from proofsweep.store.receipts import Part
from proofsweep.store.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationAuditor:
    """Checks the operations of one store."""

    operations: Operations
    auditor: PartAuditor

    def check_all(self, operation_ids: Sequence[str]) -> Mapping[str, Collection[str] | None]:
        """Check all operations; give the parts that each one's receipt names, None without a receipt."""
        return {operation_id: self._check(operation_id) for operation_id in operation_ids}

    def _check(self, operation_id: str) -> Collection[str] | None:
        self.auditor.checked.operations += 1
        try:
            receipt = self.operations.receipt(operation_id)
            parts = None if receipt is None else _parts_of(receipt, operation_id)
        except (ResultsError, KeyError, ValueError, TypeError):
            name = layout.operation_receipt_name(operation_id)
            self.auditor.findings.bad(name, "cannot be read as the receipt of its operation")
            return ()
        if parts is None:
            self.auditor.findings.note(operation_id, "this operation has no receipt: it is at work, or was killed")
            return None
        for part in parts:
            owner = "run_id" if part.name.startswith("exchanges/") else "operation_id"
            self.auditor.check(part, {owner: operation_id}, "operation")
        return {part.name for part in parts}


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
