"""Check merged rounds of monitoring: their receipts are there, and rows and sums are as these say."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from proofsweep.domain import layout
from proofsweep.domain.audit.findings import Findings
from proofsweep.domain.operations import CallCounts
from proofsweep.storage.results.merged_rounds import DAMAGE, rounds_in
from proofsweep.storage.results.plans_and_parts import sha256_hex
from proofsweep.storage.results.store import Store

RowsOfRounds = Mapping[tuple[str, str], int]
"""How many rows each round has in a table, by the table and the round."""


def rows_of_rounds(store: Store, operation_id: str, receipt: Mapping[str, Any], findings: Findings) -> RowsOfRounds:
    """Give the rows that merged rounds must have by their own receipts; what is wrong with these is a finding."""
    name = layout.rounds_name(operation_id)
    content, counts = store.read(name), CallCounts()
    if content is None or sha256_hex(content) != receipt["rounds_sha256"]:
        findings.bad(name, "is missing" if content is None else "was changed: the receipt beside it has another sha256")
        return {}
    rows: Counter[tuple[str, str]] = Counter()
    try:
        rounds = rounds_in(content)
        for each in rounds:
            counts.add_all(each.document)
            rows.update({(part.name.partition("/")[0], each.operation_id): part.rows for part in each.parts})
    except DAMAGE:
        findings.bad(name, "cannot be read as the receipts of rounds")
        return {}
    said = counts.document() | {"counts": {"rounds": len(rounds)}}
    if any(receipt.get(member) != value for member, value in said.items()):
        findings.bad(layout.operation_receipt_name(operation_id), "does not have the sums of the rounds that it merged")
    return rows


def check_rows_of_rounds(name: str, rows: pa.Table, expected: RowsOfRounds, findings: Findings) -> None:
    """Check that a merged part has of each round as many rows as the round's receipt says, and no others."""
    table = name.partition("/")[0]
    wanted = {operation_id: count for (each, operation_id), count in expected.items() if each == table}
    if Counter(rows["operation_id"].to_pylist()) != wanted:
        findings.bad(name, "has other rows than the receipts of its rounds say")
