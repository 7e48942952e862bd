"""Check one part against its leg's receipt: its bytes, its rows, its Merkle root, and what a redaction took from it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq

from proofsweep.audit.exceptions import Redactions, Step
from proofsweep.model import layout
from proofsweep.model.findings import Checked, Findings
from proofsweep.model.pruning import PrunedObject
from proofsweep.model.tables.schemas import SCHEMAS, conformed
from proofsweep.store.receipts import Part
from proofsweep.store.redactions import redacted
from proofsweep.store.row_digests import root_of, row_digests
from proofsweep.store.store import Store, sha256_hex

UNREADABLE = (pa.ArrowException, OSError, KeyError, ValueError, IndexError)
"""What is raised for bytes that are no part of a table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartAuditor:
    """Checks the parts of one run, or of operations."""

    store: Store
    pruned: Mapping[str, PrunedObject]  # what prunings deleted of the run, by name; nothing of operations
    redactions: Redactions  # of the whole store
    findings: Findings
    checked: Checked

    def check(self, part: Part, cells: Mapping[str, object], of: str, root: str | None = None) -> pa.Table | None:
        """Check a part that a receipt names; give its rows, None if they are gone or cannot be read.

        `cells` are what each row has in these columns. `of` is what the receipt ends: a leg or an operation.
        """
        content = self.store.read(part.name)
        self.checked.parts += 1
        if part.name in self.pruned:
            check_pruned(part, self.pruned[part.name], content, self.findings, self.checked)
            return None
        if content is None:
            self.findings.bad(part.name, f"is missing; the receipt of its {of} names it")
            return None
        if not is_recorded(part, sha256_hex(content), self.redactions.of(part.name), self.findings):
            self.findings.bad(part.name, "was changed: no receipt names the sha256 that it has")
            return None
        try:
            table = pq.ParquetFile(pa.BufferReader(content)).read(use_threads=False)
            if table.num_rows != part.rows:
                said = f"the receipt of its {of} says {part.rows:,}"
                self.findings.bad(part.name, f"has {table.num_rows:,} rows; {said}")
            self._check_rows(part.name, table, cells, root)
            return with_all_columns(table, part.name.partition("/")[0])
        except UNREADABLE:
            self.findings.bad(part.name, "cannot be read as a part of its table")
            return None

    def _check_rows(self, name: str, table: pa.Table, cells: Mapping[str, object], root: str | None) -> None:
        for column, value in cells.items():
            if set(table[column].unique().to_pylist()) - {value}:
                self.findings.bad(name, f"holds a row of another {column.replace('_id', '')}")
        steps = self.redactions.of(name)
        taken = check_redacted_rows(name, table, steps, root, self.findings)
        if name.startswith("verdicts/") and (root is not None or steps):
            self.checked.redacted += len(taken)
            self.checked.rows_proved += table.num_rows - len(taken)


def check_pruned(part: Part, said: PrunedObject, content: bytes | None, findings: Findings, checked: Checked) -> None:
    """Check a part that a pruning deletes: its intent and the receipt say the same of it, and it is gone."""
    checked.pruned_parts += 1
    if (said.rows, said.sha256) != (part.rows, part.sha256):
        findings.bad(part.name, "was pruned, but the pruning names another digest than the receipt")
    if content is not None:
        findings.note(part.name, "is still there, though a pruning deletes it: repeat proofsweep prune")


def is_recorded(part: Part, sha256: str, steps: Sequence[Step], findings: Findings) -> bool:
    """Return whether a part has the digest that the receipt which names it has, or that of its last redaction."""
    expected = {part.sha256}
    for step in steps:
        if step.before.sha256 not in expected:
            name = layout.redaction_intent_name(step.redaction.number)
            findings.bad(name, f"did not find {part.name} as the records before it leave it")
        after = None if step.completed is None else step.completed.objects.get(part.name)
        expected = {step.before.sha256, sha256} if after is None else {after}
    return sha256 in expected


def check_redacted_rows(
    name: str, table: pa.Table, steps: Sequence[Step], root: str | None, findings: Findings
) -> Mapping[int, str]:
    """Check that redactions took the content of their rows and changed no other row; give these rows' digests.

    `root` is the Merkle root that a receipt names; without one, that of the last redaction counts.
    """
    taken = {index: digest for step in steps for index, digest in step.before.rows.items()}
    if taken and redacted(table, name.partition("/")[0], taken) != table:
        findings.bad(name, "still holds content of a row that was redacted, or new content in its place")
    root = root or (steps[-1].before.merkle_root if steps else None)
    if root is not None:
        leaves = row_digests(table)
        for index, digest in taken.items():
            leaves[index] = bytes.fromhex(digest)
        if root_of(leaves).hex() != root:
            findings.bad(name, "holds a row that was changed: the Merkle root of its rows is another one")
    return taken


def with_all_columns(table: pa.Table, name: str) -> pa.Table:
    """Return a table the whole schema; one of UNREADABLE says that it is no such table."""
    whole = conformed(table, SCHEMAS[name])
    if any(whole[field.name].null_count for field in SCHEMAS[name] if not field.nullable):
        raise ValueError(name)
    return whole
