"""Check the parts of operations against their receipts: bytes, rows, and whose rows they are."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from proofsweep.domain import layout
from proofsweep.domain.audit.findings import Checked, Findings
from proofsweep.domain.operations import operation_of
from proofsweep.errors import ResultsError
from proofsweep.storage.results.operations import Operations
from proofsweep.storage.results.plans_and_parts import sha256_hex
from proofsweep.storage.results.receipts import Part
from proofsweep.storage.results.store import Store
from proofsweep.usecases.audit.parts import UNREADABLE, with_all_columns


def audit_operations(
    operations: Operations, operation_ids: Sequence[str], findings: Findings, checked: Checked
) -> Mapping[str, Collection[str] | None]:
    """Check all operations; give the parts that each one's receipt names, None without a receipt."""
    named: dict[str, Collection[str] | None] = {}
    for operation_id in operation_ids:
        checked.operations += 1
        name = layout.operation_receipt_name(operation_id)
        try:
            receipt = operations.receipt(operation_id)
            parts = None if receipt is None else _parts_of(receipt, operation_id)
        except (ResultsError, KeyError, ValueError, TypeError):
            findings.bad(name, "cannot be read as the receipt of its operation")
            parts = []
        if parts is None:
            findings.note(operation_id, "this operation has no receipt: it is at work, or was killed")
        for part in parts or ():
            _check(operations.results.store, part, operation_id, findings, checked)
        named[operation_id] = None if parts is None else {part.name for part in parts}
    return named


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
    parts = [Part(name=each["name"], rows=int(each["rows"]), sha256=each["sha256"]) for each in receipt["parts"]]
    tables = {part.name.partition("/")[0] for part in parts}
    folders = {layout.table_folder(table, operation.run_date) for table in tables}
    if operation.operation_id != operation_id or {part.name.rpartition("/")[0] for part in parts} - folders:
        raise ValueError(operation_id)
    return parts


def _check(store: Store, part: Part, operation_id: str, findings: Findings, checked: Checked) -> None:
    checked.parts += 1
    content = store.read(part.name)
    if content is None:
        findings.bad(part.name, "is missing; the receipt of its operation names it")
    elif sha256_hex(content) != part.sha256:
        findings.bad(part.name, "was changed: its sha256 is not the one in the receipt of its operation")
    else:
        _check_rows(content, part, operation_id, findings)


def _check_rows(content: bytes, part: Part, operation_id: str, findings: Findings) -> None:
    table = part.name.partition("/")[0]
    try:
        rows = with_all_columns(pq.ParquetFile(pa.BufferReader(content)).read(use_threads=False), table)
        owners = set(rows["run_id" if table == "exchanges" else "operation_id"].unique().to_pylist())
    except UNREADABLE:
        findings.bad(part.name, "cannot be read as a part of its table")
        return
    if rows.num_rows != part.rows:
        findings.bad(part.name, f"has {rows.num_rows:,} rows; the receipt of its operation says {part.rows:,}")
    if owners - {operation_id}:
        findings.bad(part.name, "holds a row of another operation")
