"""Check one run: its plan and receipts, each part that they name, its counts, and what lies beside them."""

import json
from array import array
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from proofsweep.audit.findings import Checked, Findings
from proofsweep.audit.receipts import LegReceipt, check_chain, check_claims, read_prunings, read_receipts
from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import ResultsError
from proofsweep.domain.exchanges import Call
from proofsweep.domain.runs import OUTCOMES, Plan, rows_of_shard
from proofsweep.store import layout
from proofsweep.store.objects import Store, sha256_hex
from proofsweep.store.parts import Part, Results, has_claim, plan_of
from proofsweep.store.prunings import PrunedObject
from proofsweep.store.rows import with_instants
from proofsweep.store.schemas import SCHEMAS, conformed
from proofsweep.store.tables import RECEIPTED
from proofsweep.verify.commit import EXCHANGE_IDENTITY, exchange_counts, exchange_identities

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
        said = with_instants("runs", dict(receipt.counts))
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    held: Collection[str]  # the names of all that receipts hold
    now: datetime  # which nothing can be later than


def audit_run(results: Results, run_id: str, known: Known, findings: Findings, checked: Checked) -> None:
    """Check one run; parts are read one shard at a time. ResultsError if the store cannot be read."""
    plan = _plan(results, run_id)
    receipts = read_receipts(results.store, run_id, findings)
    checked.runs += 1
    checked.legs += len(receipts)
    if plan is None:
        findings.bad(layout.plan_name(run_id), "is missing or cannot be read")
        return
    check_chain(results.store, run_id, receipts, findings)  # (1)
    if any(receipt.plan_sha256 != results.plan_digest(run_id) for receipt in receipts.values()):
        findings.note(run_id, "its parts were not read, since its plan is not the one that its receipts name")
        return
    prunings = read_prunings(results.store, run_id, findings)
    check_claims(results, plan, receipts, prunings, known.held, known.now, findings)
    auditor = PartAuditor(
        store=results.store,
        pruned={each.name: each for pruning in prunings for each in pruning.deleted},
        findings=findings,
        checked=checked,
    )
    _RunAuditor(results=results, plan=plan, receipts=receipts, auditor=auditor).check()


@dataclass(frozen=True, slots=True, kw_only=True)
class _RunAuditor:
    results: Results
    plan: Plan
    receipts: Mapping[int, LegReceipt]
    auditor: PartAuditor
    totals: dict[int, LegTotals] = field(default_factory=lambda: defaultdict(LegTotals))
    request_ids: RequestIds = field(default_factory=RequestIds)

    @property
    def findings(self) -> Findings:
        return self.auditor.findings

    def check(self) -> None:
        by_shard = self._parts_by_shard()
        for shard, parts in sorted(by_shard.items()):
            self._check_shard(shard, parts)  # (2), (3)
        for receipt in self.receipts.values():
            for part in receipt.parts:
                if part.name.startswith("exchanges/"):
                    table = self._checked(part, receipt)  # (4)
                    self.totals[receipt.leg].add_exchanges(table)
                    if table is not None:
                        self.request_ids.find_in(table)
        check_counts(self.receipts, self.totals, self.plan, self.findings)  # (5)
        for leg, receipt in self.receipts.items():
            name = layout.runs_name(self.plan.run_id, self.plan.run_date, leg)
            worked = [each for each in self.receipts.values() if each.leg > leg and each.ended_by != EndedBy.KILLED]
            may_miss = not worked  # a leg that came to its end had written all rows before
            check_runs_row(self.results.store.read(name), receipt, name, may_miss=may_miss, findings=self.findings)
        self._check_unreferenced_parts()  # (6)
        missing = self.request_ids.missing()  # (7), unless a part of the exchanges was pruned or cannot be read
        if missing and all(totals.exchanges is not None for totals in self.totals.values()):
            self.findings.bad(self.plan.run_id, f"{missing:,} request IDs of its rows are in no row of exchanges")

    def _parts_by_shard(self) -> dict[int, list[tuple[Part, LegReceipt]]]:
        found: dict[int, list[tuple[Part, LegReceipt]]] = {shard: [] for shard in range(self.plan.shards)}
        for receipt in self.receipts.values():
            for part in receipt.parts:
                table, seq = self._table_and_number(part, receipt.leg)
                if table is None or (table == "verdicts" and seq not in found):
                    self.findings.bad(receipt.name, f"names {part.name}, which is no part of this leg")
                elif table == "verdicts":
                    found[seq].append((part, receipt))
        return found

    def _table_and_number(self, part: Part, leg: int) -> tuple[str | None, int]:
        named = {"verdicts": layout.verdicts_name, "exchanges": layout.exchanges_name}
        table = part.name.partition("/")[0]
        number = part.name.rpartition("/")[2].removesuffix(".parquet").split("-")[1:2]
        if table in named and number and number[0].isdecimal():
            expected = named[table](self.plan.run_id, self.plan.run_date, int(number[0]), leg)
            if expected == part.name:
                return table, int(number[0])
        return None, 0

    def _check_shard(self, shard: int, parts: list[tuple[Part, LegReceipt]]) -> None:
        tables: list[pa.Table] = []
        for part, receipt in parts:
            table = self._checked(part, receipt)
            self.totals[receipt.leg].add_verdicts(table)
            if table is not None:
                tables.append(table)
                self.request_ids.add(table)
                self.auditor.checked.rows += table.num_rows
        if layout.shard_name(self.plan.run_id, shard) not in self.auditor.pruned:
            check_shard(self.results.store, self.plan, shard, tables, self.findings)

    def _checked(self, part: Part, receipt: LegReceipt) -> pa.Table | None:
        cells = {"run_id": receipt.run_id, "leg": receipt.leg}
        return self.auditor.check(part, cells, "leg")

    def _check_unreferenced_parts(self) -> None:
        named = {part.name for receipt in self.receipts.values() for part in receipt.parts}
        for table in RECEIPTED:
            folder = layout.table_folder(table, self.plan.run_date)
            for name in self.results.store.names(folder):
                if layout.run_of(name) == self.plan.run_id and name not in named:
                    self._judge_unreferenced_part(table, name)
        folder = layout.table_folder("runs", self.plan.run_date)
        known = {layout.runs_name(self.plan.run_id, self.plan.run_date, leg) for leg in self.receipts}
        for name in self.results.store.names(folder):
            if layout.run_of(name) == self.plan.run_id and name not in known:
                self.findings.bad(name, "is the row of a leg that has no receipt")

    def _judge_unreferenced_part(self, table: str, name: str) -> None:
        """A leg at work has parts without a receipt; a leg that was taken over may come back with exchanges."""
        ending = name.rpartition("-")[2].removesuffix(".parquet")
        leg = int(ending) if ending.isdecimal() else 0
        receipt = self.receipts.get(leg)
        store, run_id = self.results.store, self.plan.run_id
        if receipt is None and leg > max(self.receipts, default=0) and has_claim(store, run_id, leg):
            return
        if receipt is not None and table == "exchanges" and receipt.ended_by == EndedBy.KILLED:
            self._take_late_exchanges(name, receipt)
            return
        self.findings.bad(name, "is named by no receipt")

    def _take_late_exchanges(self, name: str, receipt: LegReceipt) -> None:
        """Take exchanges that no digest covers, if they are of this leg and repeat none that stand in its parts."""
        try:
            content = pa.BufferReader(self.results.store.read(name) or b"")
            table = with_all_columns(pq.ParquetFile(content).read(use_threads=False), "exchanges")
        except UNREADABLE:
            self.findings.bad(name, "cannot be read as a part of its table")
            return
        named = [part.name for part in receipt.parts if part.name.startswith("exchanges/")]
        known = {identity for part in named for identity in self._identities(part)}
        cells = zip(table["run_id"].to_pylist(), table["leg"].to_pylist(), strict=True)
        if known.intersection(exchange_identities(table)) or set(cells) - {(receipt.run_id, receipt.leg)}:
            self.findings.bad(name, "is named by no receipt, and holds exchanges of another part or leg")
            return
        self.request_ids.find_in(table)
        self.findings.note(name, "came after the receipt of its leg, which was taken over; no digest covers it")

    def _identities(self, name: str) -> Iterator[tuple[object, ...]]:
        with suppress(ResultsError):
            yield from exchange_identities(self.results.table("exchanges", [name], EXCHANGE_IDENTITY))


def _plan(results: Results, run_id: str) -> Plan | None:
    try:
        plan = plan_of(json.loads(results.store.read(layout.plan_name(run_id)) or b""))
        numbers: tuple[object, ...] = (plan.items, plan.shard_items, plan.shards)  # whoever wrote them
        is_sound = plan.run_id == run_id and all(isinstance(each, int) and each >= 0 for each in numbers)
        is_sound = is_sound and plan.run_date.year > 0 and (plan.shard_items > 0 or not plan.shards)
    except (ValueError, TypeError, AttributeError, KeyError):
        return None
    return plan if is_sound else None
