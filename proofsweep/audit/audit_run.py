"""Check one run: its plan and receipts, each part that they name, its counts, and what lies beside them.

(1) the receipts hold each other, (2) each verdicts part is what its receipt says, shard by shard, (3) each planned row
has one answer at most, (4) each exchanges part is what its receipt says, (5) counts, rows of `runs` agree,
(6) there is no part that no receipt names, (7) each request ID that a row names was written down.
"""

import json
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime

import pyarrow as pa
import pyarrow.parquet as pq

from proofsweep.audit.check_parts import UNREADABLE, PartAuditor, with_all_columns
from proofsweep.audit.findings import Checked, Findings
from proofsweep.audit.leg_receipts import LegReceipt, check_chain, check_claims, read_prunings, read_receipts
from proofsweep.audit.row_counts import LegTotals, RequestIds, check_counts, check_runs_row, check_shard
from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import ResultsError
from proofsweep.domain.runs import Plan
from proofsweep.store import layout
from proofsweep.store.plans_and_parts import RECEIPTED, Results, plan_of
from proofsweep.store.receipts import Part, has_claim
from proofsweep.verify.publish import EXCHANGE_IDENTITY, exchange_identities


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
