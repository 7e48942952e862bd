"""Check one part against its leg's receipt: its bytes and its rows."""

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq

from proofsweep.audit.findings import Checked, Findings
from proofsweep.store.pruning import PrunedObject
from proofsweep.store.receipts import Part
from proofsweep.store.store import Store, sha256_hex
from proofsweep.store.tables.schemas import SCHEMAS, conformed

UNREADABLE = (pa.ArrowException, OSError, KeyError, ValueError, IndexError)  # for bytes that are no part of a table


@dataclass(frozen=True, slots=True, kw_only=True)
class PartAuditor:
    store: Store
    pruned: Mapping[str, PrunedObject]  # what prunings deleted of the run, by name; nothing of operations
    findings: Findings
    checked: Checked

    def check(self, part: Part, cells: Mapping[str, object], of: str) -> pa.Table | None:
        """Check a part; give its rows, None if they are gone or unreadable. `cells` are what each row has there."""
        content = self.store.read(part.name)
        self.checked.parts += 1
        if (pruned := self.pruned.get(part.name)) is not None:
            self.checked.pruned_parts += 1
            if (pruned.rows, pruned.sha256) != (part.rows, part.sha256):
                self.findings.bad(part.name, "was pruned, but the pruning names another digest than the receipt")
            if content is not None:
                self.findings.note(part.name, "is still there, though a pruning deletes it: repeat proofsweep prune")
            return None
        if content is None:
            self.findings.bad(part.name, f"is missing; the receipt of its {of} names it")
            return None
        if sha256_hex(content) != part.sha256:
            self.findings.bad(part.name, "was changed: no receipt names the sha256 that it has")
            return None
        try:
            table = pq.ParquetFile(pa.BufferReader(content)).read(use_threads=False)
            if table.num_rows != part.rows:
                said = f"the receipt of its {of} says {part.rows:,}"
                self.findings.bad(part.name, f"has {table.num_rows:,} rows; {said}")
            for column, value in cells.items():
                if set(table[column].unique().to_pylist()) - {value}:
                    self.findings.bad(part.name, f"holds a row of another {column.replace('_id', '')}")
            return with_all_columns(table, part.name.partition("/")[0])
        except UNREADABLE:
            self.findings.bad(part.name, "cannot be read as a part of its table")
            return None


def with_all_columns(table: pa.Table, name: str) -> pa.Table:
    """Return a table the whole schema; one of UNREADABLE says that it is no such table."""
    whole = conformed(table, SCHEMAS[name])
    if any(whole[field.name].null_count for field in SCHEMAS[name] if not field.nullable):
        raise ValueError(name)
    return whole
