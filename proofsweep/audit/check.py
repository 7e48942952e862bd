"""Check one run: its plan and receipts, each part that they name, its counts, and what lies beside them."""

import json
from array import array
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from proofsweep.audit.receipts import Audit, LegReceipt, check_chain, check_claims, read_prunings, read_receipts
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

_UNREADABLE = (pa.ArrowException, OSError, KeyError, ValueError, IndexError)  # for bytes that are no part of a table
_ADDED_UP = ("calls", "bytes_sent", "throttled")
_ID_COLUMNS = ((Call.UPLOADS, "uploads_request_id"), (Call.VERIFY, "verify_request_id"))


class RunAuditor:
    """Checks one run, and reads its parts one shard at a time."""

    def __init__(self, results: Results, run_id: str, audit: Audit) -> None:
        self._results = results
        self._store = results.store
        self._run_id = run_id
        self._audit = audit
        self._receipts = read_receipts(self._store, run_id, audit)
        self._pruned: Mapping[str, PrunedObject] = {}  # by name
        # of each leg, what its parts that could be read add up to.
        self._totals: defaultdict[int, Counter[str]] = defaultdict(Counter)
        self._unread: set[tuple[int, str]] = set()  # leg and table of the others
        self._request_ids = _RequestIds()

    def check(self, held: Collection[str], now: datetime) -> None:
        """`held` names all objects that receipts hold, `now` is later than all. ResultsError: the store is away."""
        plan = self._plan()
        self._audit.runs += 1
        self._audit.legs += len(self._receipts)
        if plan is None:
            self._audit.bad(layout.plan_name(self._run_id), "is missing or cannot be read")
            return
        check_chain(self._store, self._run_id, self._receipts, self._audit)  # (1)
        digest = self._results.plan_digest(self._run_id)
        if any(receipt.plan_sha256 != digest for receipt in self._receipts.values()):
            why = "its parts were not read, since its plan is not the one that its receipts name"
            self._audit.note(self._run_id, why)
            return
        prunings = read_prunings(self._store, self._run_id, self._audit)
        check_claims(self._results, plan, self._receipts, prunings, held, now, self._audit)
        self._pruned = {each.name: each for pruning in prunings for each in pruning.deleted}
        for shard, parts in sorted(self._parts_by_shard(plan).items()):
            self._check_shard(plan, shard, parts)  # (2), (3)
        for receipt in self._receipts.values():
            for part in receipt.parts:
                if part.name.startswith("exchanges/"):
                    self._check_exchanges(part, receipt)  # (4)
        self._check_counts(plan)  # (5)
        for receipt in self._receipts.values():
            self._check_runs_row(plan, receipt)
        self._check_unreferenced_parts(plan)  # (6)
        missing = self._request_ids.missing()  # (7), unless a part of the exchanges was pruned or cannot be read
        if missing and not any(table == "exchanges" for _, table in self._unread):
            self._audit.bad(self._run_id, f"{missing:,} request IDs of its rows are in no row of exchanges")

    def _plan(self) -> Plan | None:
        try:
            plan = plan_of(json.loads(self._store.read(layout.plan_name(self._run_id)) or b""))
            numbers: tuple[object, ...] = (plan.items, plan.shard_items, plan.shards)  # whoever wrote them
            is_sound = plan.run_id == self._run_id and all(isinstance(each, int) and each >= 0 for each in numbers)
            is_sound = is_sound and plan.run_date.year > 0 and (plan.shard_items > 0 or not plan.shards)
        except (ValueError, TypeError, AttributeError, KeyError):
            return None
        return plan if is_sound else None

    def _parts_by_shard(self, plan: Plan) -> dict[int, list[tuple[Part, LegReceipt]]]:
        found: dict[int, list[tuple[Part, LegReceipt]]] = {shard: [] for shard in range(plan.shards)}
        for receipt in self._receipts.values():
            for part in receipt.parts:
                table, number = _table_and_number(plan, part, receipt.leg)
                if table is None or (table == "verdicts" and number not in found):
                    self._audit.bad(receipt.name, f"names {part.name}, which is no part of this leg")
                elif table == "verdicts":
                    found[number].append((part, receipt))
        return found

    def _check_shard(self, plan: Plan, shard: int, parts: list[tuple[Part, LegReceipt]]) -> None:
        tables: list[pa.Table] = []
        for part, receipt in parts:
            table = self._checked(part, receipt)
            if table is None:
                self._unread.add((receipt.leg, "verdicts"))
                continue
            tables.append(table)
            self._totals[receipt.leg].update(map(str, table["outcome"].to_pylist()))
            self._request_ids.add(table)
            self._audit.rows += table.num_rows
        if layout.shard_name(plan.run_id, shard) not in self._pruned:
            _check_rows(self._store, plan, shard, tables, self._audit)

    def _check_exchanges(self, part: Part, receipt: LegReceipt) -> None:
        table = self._checked(part, receipt)
        if table is not None:
            self._request_ids.find_in(table)
        try:
            said = None if table is None else exchange_counts([table])
        except ValueError:  # a call that this version does not know
            said = None
        if said is None:
            self._unread.add((receipt.leg, "exchanges"))
        else:
            self._totals[receipt.leg].update({name: int(str(said[name])) for name in _ADDED_UP})

    def _checked(self, part: Part, receipt: LegReceipt) -> pa.Table | None:
        cells = {"run_id": receipt.run_id, "leg": receipt.leg}
        return check_part(self._store, part, cells, "leg", self._audit, self._pruned)

    def _check_counts(self, plan: Plan) -> None:
        done = 0
        for leg, receipt in sorted(self._receipts.items()):
            done += sum(part.rows for part in receipt.parts if part.name.startswith("verdicts/"))
            found = {"remaining": plan.items - done, "items": plan.items}
            for table, names in (("verdicts", OUTCOMES), ("exchanges", _ADDED_UP)):
                if (leg, table) not in self._unread:
                    found |= {name: self._totals[leg][name] for name in names}
            for column, number in found.items():
                said = receipt.counts.get(column)
                if said != number:
                    what = f"says {column} = {said}; the parts and the plan make it {number:,}"
                    self._audit.bad(receipt.name, what)

    def _check_runs_row(self, plan: Plan, receipt: LegReceipt) -> None:
        name = layout.runs_name(plan.run_id, plan.run_date, receipt.leg)
        content = self._store.read(name)
        later = (each for each in self._receipts.values() if each.leg > receipt.leg)
        if content is None and all(each.ended_by == EndedBy.KILLED for each in later):
            # a later leg that came to its end would have written all rows before.
            self._audit.note(name, "is missing: the process was killed after its receipt; the next leg writes it")
            return
        try:
            (row,) = _table_of(content or b"").to_pylist()
            said = with_instants("runs", dict(receipt.counts))
            differing = sorted(column for column in row if row[column] != said.get(column))
        except (pa.ArrowException, OSError, ValueError, TypeError):
            self._audit.bad(name, "is missing or cannot be read as the row of one leg")
            return
        if differing:
            self._audit.bad(name, f"says otherwise than the receipt of its leg: {', '.join(differing)}")

    def _check_unreferenced_parts(self, plan: Plan) -> None:
        named = {part.name for receipt in self._receipts.values() for part in receipt.parts}
        for table in RECEIPTED:
            for name in self._listed(plan, table):
                if name not in named:
                    self._check_unreferenced_part(table, name)
        known = {layout.runs_name(plan.run_id, plan.run_date, leg) for leg in self._receipts}
        for name in self._listed(plan, "runs"):
            if name not in known:
                self._audit.bad(name, "is the row of a leg that has no receipt")

    def _listed(self, plan: Plan, table: str) -> list[str]:
        names = self._store.names(layout.table_folder(table, plan.run_date))
        return [name for name in names if layout.run_of(name) == plan.run_id]

    def _check_unreferenced_part(self, table: str, name: str) -> None:
        """A leg at work has parts without a receipt; a leg that was taken over may come back with exchanges."""
        ending = name.rpartition("-")[2].removesuffix(".parquet")
        leg = int(ending) if ending.isdecimal() else 0
        receipt = self._receipts.get(leg)
        if receipt is None and leg > max(self._receipts, default=0) and has_claim(self._store, self._run_id, leg):
            return
        if receipt is not None and table == "exchanges" and receipt.ended_by == EndedBy.KILLED:
            self._check_late_exchanges(name, receipt)
            return
        self._audit.bad(name, "is named by no receipt")

    def _check_late_exchanges(self, name: str, receipt: LegReceipt) -> None:
        """Take exchanges that no digest covers, if they are of this leg and repeat none that stand in its parts."""
        try:
            table = _with_all_columns(_table_of(self._store.read(name) or b""), "exchanges")
        except _UNREADABLE:
            self._audit.bad(name, "cannot be read as a part of its table")
            return
        named = [part.name for part in receipt.parts if part.name.startswith("exchanges/")]
        known: set[tuple[object, ...]] = set()
        for each in named:
            with suppress(ResultsError):
                known |= set(exchange_identities(self._results.table("exchanges", [each], EXCHANGE_IDENTITY)))
        cells = zip(table["run_id"].to_pylist(), table["leg"].to_pylist(), strict=True)
        if known.intersection(exchange_identities(table)) or set(cells) - {(receipt.run_id, receipt.leg)}:
            self._audit.bad(name, "is named by no receipt, and holds exchanges of another part or leg")
            return
        self._request_ids.find_in(table)
        self._audit.note(name, "came after the receipt of its leg, which was taken over; no digest covers it")


def check_part(  # noqa: PLR0917 - the part, what is known of it, and where what is found goes
    store: Store,
    part: Part,
    cells: Mapping[str, object],
    of: str,
    audit: Audit,
    pruned: Mapping[str, PrunedObject] | None = None,
) -> pa.Table | None:
    """Check a part; give its rows, None if they are gone or unreadable.

    `cells` are what each row has there, `pruned` what prunings deleted, by name.
    """
    content = store.read(part.name)
    audit.parts += 1
    if (gone := (pruned or {}).get(part.name)) is not None:
        audit.pruned_parts += 1
        if (gone.rows, gone.sha256) != (part.rows, part.sha256):
            audit.bad(part.name, "was pruned, but the pruning names another digest than the receipt")
        if content is not None:
            audit.note(part.name, "is still there, though a pruning deletes it: repeat proofsweep prune")
        return None
    if content is None:
        audit.bad(part.name, f"is missing; the receipt of its {of} names it")
        return None
    if sha256_hex(content) != part.sha256:
        audit.bad(part.name, "was changed: no receipt names the sha256 that it has")
        return None
    try:
        table = _table_of(content)
        if table.num_rows != part.rows:
            audit.bad(part.name, f"has {table.num_rows:,} rows; the receipt of its {of} says {part.rows:,}")
        for column, value in cells.items():
            if set(table[column].unique().to_pylist()) - {value}:
                audit.bad(part.name, f"holds a row of another {column.replace('_id', '')}")
        return _with_all_columns(table, part.name.partition("/")[0])
    except _UNREADABLE:
        audit.bad(part.name, "cannot be read as a part of its table")
        return None


def _table_of(content: bytes) -> pa.Table:
    return pq.ParquetFile(pa.BufferReader(content)).read(use_threads=False)


def _with_all_columns(table: pa.Table, name: str) -> pa.Table:
    """Return a table the whole schema; one of _UNREADABLE says that it is no such table."""
    whole = conformed(table, SCHEMAS[name])
    if any(whole[field.name].null_count for field in SCHEMAS[name] if not field.nullable):
        raise ValueError(name)
    return whole


def _table_and_number(plan: Plan, part: Part, leg: int) -> tuple[str | None, int]:
    named = {"verdicts": layout.verdicts_name, "exchanges": layout.exchanges_name}
    table = part.name.partition("/")[0]
    number = part.name.rpartition("/")[2].removesuffix(".parquet").split("-")[1:2]
    if table not in named or not number or not number[0].isdecimal():
        return None, 0
    is_of_leg = named[table](plan.run_id, plan.run_date, int(number[0]), leg) == part.name
    return (table, int(number[0])) if is_of_leg else (None, 0)


def _check_rows(store: Store, plan: Plan, shard: int, parts: Sequence[pa.Table], audit: Audit) -> None:
    first, count = shard * plan.shard_items, rows_of_shard(plan, shard)
    name = layout.shard_name(plan.run_id, shard)
    planned = _planned_items(store.read(name))
    seen = set[int]()
    for table in parts:
        indexes = [int(row) - first for row in table["manifest_row"].to_pylist() if row is not None]
        known = {index for index in indexes if 0 <= index < count}
        is_foreign = min(indexes, default=0) < 0 or max(indexes, default=0) >= count
        if is_foreign:
            audit.bad(plan.run_id, f"shard {shard} has an answer for a row that it does not hold")
        if seen & known or len(set(indexes)) < len(indexes):
            audit.bad(plan.run_id, f"shard {shard} has a row with two answers")
        seen |= known
        if planned is not None and len(planned) == count and not is_foreign:
            wanted = planned.take(pa.array(indexes, pa.int64())).to_pylist()
            rows = zip(indexes, table["item_id"].to_pylist(), wanted, strict=True)
            exchanged = next((index + first for index, answered, item in rows if answered != item), None)
            if exchanged is not None:
                what = f"row {exchanged} was planned for another item than the one that has its answer"
                audit.bad(plan.run_id, what)
    if planned is None or len(planned) != count:
        audit.bad(name, f"is not the list of the {count:,} items that were planned")


def _planned_items(content: bytes | None) -> pa.StringArray | None:
    try:
        table = pq.ParquetFile(pa.BufferReader(content or b"")).read(["manifest_row", "item_id"], use_threads=False)
        return pa.array(table.sort_by("manifest_row")["item_id"].to_pylist(), pa.string())
    except (pa.ArrowException, OSError, KeyError):
        return None


class _RequestIds:
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
        for call, column in _ID_COLUMNS:
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
