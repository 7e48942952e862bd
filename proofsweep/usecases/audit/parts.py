"""Check one part against its leg's receipt: its bytes, its rows, its Merkle root, and what a redaction took from it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq

from proofsweep.domain import layout
from proofsweep.domain.audit.findings import Checked, Findings
from proofsweep.domain.audit.merkle import root_of
from proofsweep.domain.pruning import PrunedObject
from proofsweep.domain.tables.schemas import conformed
from proofsweep.storage.results.plans_and_parts import SCHEMAS, sha256_hex
from proofsweep.storage.results.receipts import Part
from proofsweep.storage.results.redactions import redacted
from proofsweep.storage.results.row_digests import row_digests
from proofsweep.storage.results.store import Store
from proofsweep.usecases.audit.exceptions import Redactions, Step
from proofsweep.usecases.audit.leg_receipts import LegReceipt

UNREADABLE = (pa.ArrowException, OSError, KeyError, ValueError, IndexError)
"""What is raised for bytes that are no part of a table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartAuditor:
    """Checks the parts of one run.

    Attributes:
        pruned: what prunings deleted of the run, by name.
        redactions: of the whole store.
    """

    store: Store
    pruned: Mapping[str, PrunedObject]
    redactions: Redactions
    findings: Findings
    checked: Checked

    def check(self, part: Part, receipt: LegReceipt) -> pa.Table | None:
        """Check a part that a receipt names; give its rows, None if they are gone or cannot be read."""
        content = self.store.read(part.name)
        self.checked.parts += 1
        if part.name in self.pruned:
            self._check_pruned(part, content)
            return None
        if content is None:
            self.findings.bad(part.name, "is missing; the receipt of its leg names it")
            return None
        if not self._is_recorded(part, sha256_hex(content)):
            self.findings.bad(part.name, "was changed: no receipt names the sha256 that it has")
            return None
        try:
            table = pq.ParquetFile(pa.BufferReader(content)).read(use_threads=False)
            self._check_rows(part, receipt, table)
            return with_all_columns(table, part.name.partition("/")[0])
        except UNREADABLE:
            self.findings.bad(part.name, "cannot be read as a part of its table")
            return None

    def _check_pruned(self, part: Part, content: bytes | None) -> None:
        said = self.pruned[part.name]
        self.checked.pruned_parts += 1
        if (said.rows, said.sha256) not in {(part.rows, part.sha256), (None, None)}:
            self.findings.bad(part.name, "was pruned, but the pruning names another digest than the receipt")
        if content is not None:
            self.findings.note(part.name, "is still there, though a pruning deletes it: repeat proofsweep prune")

    def _is_recorded(self, part: Part, sha256: str) -> bool:
        """Say whether a part has the digest that its leg's receipt names, or its last redaction."""
        expected, steps = {part.sha256}, self.redactions.of(part.name)
        for step in steps:
            if step.before.sha256 not in expected:
                name = layout.redaction_intent_name(step.redaction.number)
                self.findings.bad(name, f"did not find {part.name} as the records before it leave it")
            after = None if step.completed is None else step.completed.objects.get(part.name)
            expected = {step.before.sha256, sha256} if after is None else {after}
        return sha256 in expected

    def _check_rows(self, part: Part, receipt: LegReceipt, table: pa.Table) -> None:
        if table.num_rows != part.rows:
            self.findings.bad(part.name, f"has {table.num_rows:,} rows; the receipt of its leg says {part.rows:,}")
        for column, value in (("run_id", receipt.run_id), ("leg", receipt.leg)):
            if set(table[column].unique().to_pylist()) - {value}:
                self.findings.bad(part.name, f"holds a row of another {column.replace('_id', '')}")
        steps = self.redactions.of(part.name)
        taken = {place: digest for step in steps for place, digest in step.before.rows.items()}
        if taken and not _is_redacted(table, part.name, taken):
            self.findings.bad(part.name, "still holds content of a row that was redacted, or new content in its place")
        root = receipt.merkle_roots.get(part.name) or _root_before(steps)
        if root is None:
            return
        leaves = row_digests(table)
        for place, digest in taken.items():
            leaves[place] = bytes.fromhex(digest)
        if root_of(leaves).hex() != root:
            self.findings.bad(part.name, "holds a row that was changed: the Merkle root of its rows is another one")
        if part.name.startswith("verdicts/"):
            self.checked.redacted += len(taken)
            self.checked.rows_proved += table.num_rows - len(taken)


def with_all_columns(table: pa.Table, name: str) -> pa.Table:
    """Add the columns that later versions have; one of UNREADABLE says that it is no such table."""
    whole = conformed(table, SCHEMAS[name])
    if any(whole[field.name].null_count for field in SCHEMAS[name] if not field.nullable):
        raise ValueError(name)
    return whole


def _root_before(steps: Sequence[Step]) -> str | None:
    """Give the root that the redactions of a part of an earlier version noted; the last one counts."""
    return steps[-1].before.merkle_root if steps else None


def _is_redacted(table: pa.Table, name: str, places: Mapping[int, str]) -> bool:
    return bool(redacted(table, name.partition("/")[0], places) == table)
