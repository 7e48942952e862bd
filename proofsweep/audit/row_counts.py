"""Rows in are rows out: each planned row is in one part, with the item that was planned, and the counts add up."""

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from proofsweep.audit.findings import Findings
from proofsweep.audit.leg_receipts import LegReceipt
from proofsweep.domain.exchanges import Call
from proofsweep.domain.outcomes import OUTCOMES
from proofsweep.domain.runs import Plan, rows_of_shard
from proofsweep.store import layout
from proofsweep.store.store import Store
from proofsweep.store.tables.runs import stored_row
from proofsweep.verify.runs_row import exchange_counts

_ADDED_UP = ("calls", "bytes_sent", "throttled")


@dataclass(slots=True)
class LegTotals:
    """What the parts of one leg hold; None once a part of it could not be read."""

    outcomes: Counter[str] | None = field(default_factory=Counter)
    exchanges: Counter[str] | None = field(default_factory=Counter)

    def add_verdicts(self, table: pa.Table | None) -> None:
        if table is None or self.outcomes is None:
            self.outcomes = None
        else:
            self.outcomes.update(map(str, table["outcome"].to_pylist()))

    def add_exchanges(self, table: pa.Table | None) -> None:
        if table is None or self.exchanges is None:
            self.exchanges = None
        else:
            try:
                said = exchange_counts([table])
            except ValueError:  # a call that this version does not know
                self.exchanges = None
            else:
                self.exchanges.update({name: int(str(said[name])) for name in _ADDED_UP})


def check_counts(
    receipts: Mapping[int, LegReceipt], totals: Mapping[int, LegTotals], plan: Plan, wrong: Findings
) -> None:
    done = 0
    for leg, receipt in sorted(receipts.items()):
        done += sum(part.rows for part in receipt.parts if part.name.startswith("verdicts/"))
        _compare(receipt, {"remaining": plan.items - done, "items": plan.items}, wrong)
        if (outcomes := totals[leg].outcomes) is not None:
            _compare(receipt, {name: outcomes[name] for name in OUTCOMES}, wrong)
        exchanges = totals[leg].exchanges
        if exchanges is not None:
            _compare(receipt, {name: exchanges[name] for name in _ADDED_UP}, wrong)


def check_shard(store: Store, plan: Plan, shard: int, parts: Sequence[pa.Table], findings: Findings) -> None:
    first, count = shard * plan.shard_items, rows_of_shard(plan, shard)
    name = layout.shard_name(plan.run_id, shard)
    planned = _items(store.read(name))
    seen = set[int]()
    for table in parts:
        indexes = [int(row) - first for row in table["manifest_row"].to_pylist() if row is not None]
        known = {index for index in indexes if 0 <= index < count}
        is_foreign = min(indexes, default=0) < 0 or max(indexes, default=0) >= count
        if is_foreign:
            findings.bad(plan.run_id, f"shard {shard} has an answer for a row that it does not hold")
        if seen & known or len(set(indexes)) < len(indexes):
            findings.bad(plan.run_id, f"shard {shard} has a row with two answers")
        seen |= known
        if planned is not None and len(planned) == count and not is_foreign:
            _compare_items(plan, table, planned.take(pa.array(indexes, pa.int64())), findings)
    if planned is None or len(planned) != count:
        findings.bad(name, f"is not the list of the {count:,} items that were planned")


def check_runs_row(
    content: bytes | None, receipt: LegReceipt, name: str, *, may_miss: bool, findings: Findings
) -> None:
    if content is None and may_miss:
        findings.note(name, "is missing: the process was killed after its receipt; the next leg writes it")
        return
    try:
        (row,) = pq.ParquetFile(pa.BufferReader(content or b"")).read(use_threads=False).to_pylist()
        said = stored_row(dict(receipt.counts))
        differing = sorted(column for column in row if row[column] != said.get(column))
    except (pa.ArrowException, OSError, ValueError, TypeError):
        findings.bad(name, "is missing or cannot be read as the row of one leg")
        return
    if differing:
        findings.bad(name, f"says otherwise than the receipt of its leg: {', '.join(differing)}")


def _compare(receipt: LegReceipt, found: Mapping[str, int], findings: Findings) -> None:
    for column, number in found.items():
        said: Any = receipt.counts.get(column)
        if said != number:
            findings.bad(receipt.name, f"says {column} = {said}; the parts and the plan make it {number:,}")


def _items(content: bytes | None) -> pa.StringArray | None:
    try:
        table = pq.ParquetFile(pa.BufferReader(content or b"")).read(["manifest_row", "item_id"], use_threads=False)
        return pa.array(table.sort_by("manifest_row")["item_id"].to_pylist(), pa.string())
    except (pa.ArrowException, OSError, KeyError):
        return None


def _compare_items(plan: Plan, table: pa.Table, planned: pa.StringArray, findings: Findings) -> None:
    rows = zip(table["manifest_row"].to_pylist(), table["item_id"].to_pylist(), planned.to_pylist(), strict=True)
    for row, answered, wanted in rows:
        if answered != wanted:
            findings.bad(plan.run_id, f"row {row} was planned for another item than the one that has its answer")
            return


_COLUMNS = ((Call.UPLOADS, "uploads_request_id"), (Call.VERIFY, "verify_request_id"))


class RequestIds:
    """Collects 64-bit hashes of what rows name, then looks for them in exchanges: two numbers for each row of a run."""

    def __init__(self) -> None:
        self._named = array("q")
        self._sorted: array[int] | None = None
        self._is_found = bytearray()

    def add(self, verdicts: pa.Table) -> None:
        """Take what the rows of one part name; all parts come before the first exchanges."""
        verdicts = verdicts.filter(pc.field("answered_by_run").is_null())  # others name calls of another run
        rows = verdicts["manifest_row"].to_pylist()
        others = verdicts["answered_by_row"].to_pylist()
        owners = [row if other is None else other for row, other in zip(rows, others, strict=True)]
        for call, column in _COLUMNS:
            self._named.extend(_hashes(str(call), owners, verdicts[column].to_pylist()))

    def find_in(self, exchanges: pa.Table) -> None:
        named, count = self._sort(), len(self._sort())
        cells = exchanges.select(["call", "manifest_row", "request_id"]).to_pydict()
        for found in map(hash, zip(*cells.values(), strict=True)):
            index = bisect_left(named, found)
            if index < count and named[index] == found:
                self._is_found[index] = 1

    def missing(self) -> int:
        return len(self._sort()) - sum(self._is_found)

    def _sort(self) -> "array[int]":
        if self._sorted is None:
            # Arrow sorts them without an object for each: there may be tens of millions.
            numbers = pa.Array.from_buffers(pa.int64(), len(self._named), [None, pa.py_buffer(self._named)])
            (_, content) = numbers.unique().sort().buffers()
            self._sorted = array("q", b"" if content is None else memoryview(content).tobytes())
            self._is_found = bytearray(len(self._sorted))
            self._named = array("q")
        return self._sorted


def _hashes(call: str, owners: list[int | None], request_ids: list[str | None]) -> Iterator[int]:
    pairs = zip(owners, request_ids, strict=True)
    return (hash((call, owner, request_id)) for owner, request_id in pairs if request_id is not None)
