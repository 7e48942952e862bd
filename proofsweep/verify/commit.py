"""End a leg, this process's own or a dead one: parts from the journal, receipt, entry in the ledger, row in `runs`."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import datetime
from http import HTTPStatus

import pyarrow as pa
import pyarrow.compute as pc

from proofsweep import __version__
from proofsweep.domain.endings import EndedBy
from proofsweep.domain.errors import NameTaken, RunIsActive
from proofsweep.domain.exchanges import Call
from proofsweep.domain.headers import CONTRACT_VERSION
from proofsweep.domain.items import Row
from proofsweep.domain.runs import Plan, shard_of
from proofsweep.store import layout
from proofsweep.store.journal import Segments
from proofsweep.store.ledger import EntryKind, Ledger
from proofsweep.store.legs import Legs
from proofsweep.store.parts import Part, Results
from proofsweep.store.rows import empty_row, with_instants
from proofsweep.store.schemas import SCHEMAS

EXCHANGE_IDENTITY = ["started_at", "manifest_row", "call", "attempt"]  # columns by which exchanges of one leg differ
_EXCHANGES_PER_PART = 25_000  # bounds the memory for one part to some 25 MB
_OUTCOMES = ("accepted", "rejected", "failed", "ineligible")
_BY_OTHERS = ("answered_by_row", "answered_by_run")
_COUNTED = ["status", "bytes_sent", "sunset", "call", "started_at"]
_KEYED = [str(call) for call in Call if call.is_keyed]


@dataclass(frozen=True, slots=True, kw_only=True)
class LegEnd:
    """How a leg ended, and what only its own process knows."""

    leg: int
    ended_by: EndedBy
    why: str | None = None  # one sentence for a person, where it ended early
    facts: Row = field(default_factory=dict)  # cells of its row in `runs`
    cpu_seconds: float | None = None  # that its process used during the leg
    quota_reset: datetime | None = None  # as the service last said
    in_doubt: Sequence[int] = ()  # rows that were tried and remain, sorted; the next leg tries them last


def settle_leg(results: Results, plan: Plan, end: LegEnd, legs: Legs) -> Row:
    """Publish what a leg finished, write its receipt and its row; give the row.

    (1) rows of the journal that are in no part become parts, (2) so do its exchanges, (3) the receipt is written, (4)
    its entry in the ledger, then its row in `runs`, (5) and the journal is deleted. If it breaks off, the next process
    does all of it again.

    Raises:
        RunIsActive: another process has ended this leg. What that one did not publish of the audit trail now is.
    """
    leg = end.leg
    segments = Segments(results, plan.run_id, leg)
    published = publish_rows(results, plan, leg, segments, keeps_out=end.ended_by is EndedBy.KILLED)  # (1)
    exchanges = publish_exchanges(results, plan, leg, segments)  # (2)
    verdicts = published.of_leg(leg)
    ended_by, why = end.ended_by, end.why
    if published.remaining == 0:  # a request to stop came too late
        ended_by = EndedBy.COMPLETE
    elif ended_by is EndedBy.COMPLETE:
        ended_by, why = EndedBy.ERROR, "Rows remain, and nothing says why."
    counted, beside = count_leg(results, plan, leg, verdicts, exchanges)
    row = counted | {"remaining": published.remaining} | end.facts | {"ended_by": str(ended_by)}
    row["finished_at"] = _latest(counted["finished_at"], end.facts.get("finished_at"))
    receipt = {
        "run_id": plan.run_id,
        "leg": leg,
        "ended_by": row["ended_by"],
        "counts": row,
        "plan_sha256": results.plan_digest(plan.run_id),
        "after_entry": Ledger(results.store).newest(),
        "parts": [asdict(part) for part in (*verdicts, *exchanges)],
        **beside,
        "why": why,
        "cpu_seconds": end.cpu_seconds,
        "quota_reset": end.quota_reset,
        "in_doubt": list(end.in_doubt),
    }
    try:
        legs.write_receipt(leg, receipt)  # (3)
    except NameTaken as taken:
        segments.delete()
        raise RunIsActive(f"Leg {leg} of run {plan.run_id} was taken over by another process.") from taken
    record_leg(results, plan, legs, leg)  # (4)
    segments.delete()  # (5)
    return row


def record_leg(results: Results, plan: Plan, legs: Legs, leg: int) -> None:
    """Append the entry of a leg's receipt to the ledger, then write its row as the receipt has it, unless they are."""
    Ledger(results.store).append(EntryKind.LEG, layout.receipt_name(plan.run_id, leg))
    cells = (legs.receipt(leg) or {}).get("counts")
    if isinstance(cells, dict):
        with suppress(NameTaken):
            name = layout.runs_name(plan.run_id, plan.run_date, leg)
            results.create_part(name, "runs", [with_instants("runs", cells)])


class PublishedRows:
    """The verdicts parts of a run, and which rows they hold: one byte for each row of the plan."""

    def __init__(self, results: Results, plan: Plan) -> None:
        self._results = results
        self._plan = plan
        self._parts = results.verdicts_by_shard(plan)
        self._is_published = bytearray(plan.items)
        self._read: set[int] = set()

    def has(self, row: int) -> bool:
        shard = shard_of(self._plan, row)
        if shard not in self._read:
            self._read.add(shard)
            for published in self._results.rows_in(self._parts.get(shard, [])):
                self._is_published[published] = 1
        return bool(self._is_published[row])

    def is_finished(self, shard: int) -> bool:
        return self._results.is_finished(self._plan, shard, self._parts.get(shard, []))

    def publish(self, shard: int, leg: int, rows: pa.Table) -> None:
        """Create a leg's part of a shard. If the name is taken, what stands there counts, and other rows remain."""
        name = layout.verdicts_name(self._plan.run_id, self._plan.run_date, shard, leg)
        part, _ = _created(self._results, name, "verdicts", rows)
        others = [each for each in self._parts.get(shard, []) if each.name != part.name]
        self._parts[shard] = [*others, part]

    def of_leg(self, leg: int) -> list[Part]:
        parts = (part for _, parts in sorted(self._parts.items()) for part in parts)
        return [part for part in parts if layout.leg_of(part.name) == leg]

    @property
    def remaining(self) -> int:
        return self._plan.items - sum(part.rows for parts in self._parts.values() for part in parts)


def publish_rows(results: Results, plan: Plan, leg: int, segments: Segments, *, keeps_out: bool) -> PublishedRows:
    """Publish the rows of a leg's journal, shard by shard.

    With `keeps_out`, each other unfinished shard gets an empty part. It occupies the name: the process of the leg may
    only sleep, and must not publish a row that another leg works on by then.
    """
    published = PublishedRows(results, plan)
    waiting: dict[int, list[str]] = {}  # the segments that hold rows of a shard which are in no part
    for name in segments.names("verdicts"):
        rows = segments.table(name, ["manifest_row"])
        numbers = [] if rows is None else _numbers(rows)
        for shard in {shard_of(plan, number) for number in numbers if not published.has(number)}:
            waiting.setdefault(shard, []).append(name)
    for shard in range(plan.shards):
        if shard in waiting:
            published.publish(shard, leg, _waiting_rows(plan, shard, waiting[shard], segments, published))
        elif keeps_out and not published.is_finished(shard):
            published.publish(shard, leg, SCHEMAS["verdicts"].empty_table())
    return published


def _waiting_rows(
    plan: Plan, shard: int, names: Sequence[str], segments: Segments, published: PublishedRows
) -> pa.Table:
    """Read the rows of one shard that are in no part, each once, in manifest order.

    None are found if another process has settled the leg meanwhile, or if the leg's own has merged its segments.
    """
    waiting = [SCHEMAS["verdicts"].empty_table()]
    for table in (rows for name in names if (rows := segments.table(name)) is not None):
        is_waiting = [shard_of(plan, number) == shard and not published.has(number) for number in _numbers(table)]
        waiting.append(table.filter(pa.array(is_waiting, pa.bool_())))
    rows = pa.concat_tables(waiting)
    indexes: dict[int, int] = {}
    for index, number in enumerate(_numbers(rows)):
        indexes.setdefault(number, index)
    return rows.take(pa.array([indexes[number] for number in sorted(indexes)], pa.int64()))


def _numbers(verdicts: pa.Table) -> list[int]:
    return [number for number in verdicts["manifest_row"].to_pylist() if number is not None]  # none is null


def _created(results: Results, name: str, table: str, rows: pa.Table) -> tuple[Part, bool]:
    """Create a part, and say whether it is ours; if the name is taken, return the part that stands there."""
    try:
        return results.create_part(name, table, rows), True
    except NameTaken:
        return results.part(name), False


def publish_exchanges(results: Results, plan: Plan, leg: int, segments: Segments) -> list[Part]:
    """Publish the exchanges of a leg's journal that are in none of its parts; give all its parts.

    There are such parts if an earlier settlement broke off, or if the process of a leg that was taken over comes back
    with more exchanges.
    """
    folder = layout.table_folder("exchanges", plan.run_date)
    listed = [name for name in results.store.names(folder) if name.startswith(f"{folder}/{plan.run_id}-")]
    standing = [name for name in listed if layout.leg_of(name) == leg]
    parts = [results.part(name) for name in standing]
    for number, portion in enumerate(_in_portions(segments.tables("exchanges"))):
        rows = portion
        for index in sorted(range(len(standing)), key=lambda index: abs(index - number)):  # mostly the same number
            rows = _without(results, rows, standing[index]) if rows.num_rows else rows
        while rows.num_rows:
            name = layout.exchanges_name(plan.run_id, plan.run_date, len(parts), leg)
            part, is_ours = _created(results, name, "exchanges", rows)
            parts.append(part)
            if is_ours:
                break
            standing.append(name)
            rows = _without(results, rows, name)
    return parts


def _in_portions(segments: Iterator[pa.Table]) -> Iterator[pa.Table]:
    waiting: list[pa.Table] = []
    for segment in segments:
        waiting.append(segment)
        if sum(table.num_rows for table in waiting) >= _EXCHANGES_PER_PART:
            yield pa.concat_tables(waiting)
            waiting = []
    if waiting:
        yield pa.concat_tables(waiting)


def _without(results: Results, rows: pa.Table, name: str) -> pa.Table:
    known = set(exchange_identities(results.table("exchanges", [name], EXCHANGE_IDENTITY)))
    return rows.filter(pa.array([identity not in known for identity in exchange_identities(rows)], pa.bool_()))


def exchange_identities(rows: pa.Table) -> Iterator[tuple[object, ...]]:
    """Name each exchange by what makes it differ from the others of its leg."""
    return zip(*(rows[name].to_pylist() for name in EXCHANGE_IDENTITY), strict=True)


def count_leg(
    results: Results, plan: Plan, leg: int, verdicts: Sequence[Part], exchanges: Sequence[Part]
) -> tuple[Row, dict[str, int]]:
    """Count a leg by its parts: for its row in `runs`, and what its receipt says besides.

    What only its process knows is null in the row.
    """
    names = [part.name for part in exchanges]
    row: Row = empty_row("runs") | {
        "run_id": plan.run_id,
        "leg": leg,
        "environment": plan.environment,
        "base_url_host": plan.base_url.split("/")[2],
        "catalog": plan.catalog,
        "catalog_digest": plan.catalog_digest,
        "items": plan.items,
        "skipped": plan.skipped,
        "contract_version": CONTRACT_VERSION,
        "proofsweep_version": __version__,
    }
    row |= exchange_counts(results.tables(names, _COUNTED))
    outcomes: Counter[str] = Counter(dict.fromkeys(_OUTCOMES, 0))
    duplicates = 0
    for table in results.tables([part.name for part in verdicts], ["outcome", *_BY_OTHERS, "finished_at"]):
        outcomes.update(map(str, table["outcome"].to_pylist()))
        duplicates += sum(table.num_rows - table[name].null_count for name in _BY_OTHERS)
        row["finished_at"] = _latest(row["finished_at"], pc.max(table["finished_at"]).as_py())
    row |= outcomes
    row["calls_again"] = _calls_again(results, plan, leg, names)
    return row, {"duplicates": duplicates, "control_calls": _control_calls(results, names)}


def _latest(*times: object) -> datetime | None:
    """Return the latest time: a clock may have been put back in the leg."""
    return max((each for each in times if isinstance(each, datetime)), default=None)


def exchange_counts(tables: Iterable[pa.Table]) -> Row:
    """Add up the audit trail; an exchange without `bytes_sent` was never sent, so it was no call."""
    counts = dict.fromkeys(("bytes_sent", "calls", "throttled"), 0)
    began: list[datetime] = []
    sunset = None
    for table in tables:
        grouped = table.group_by(["call", "status"])
        for group in grouped.aggregate([("bytes_sent", "count"), ("bytes_sent", "sum"), ("call", "count")]).to_pylist():
            counts["bytes_sent"] += group["bytes_sent_sum"] or 0
            counts["calls"] += group["bytes_sent_count"] if Call(group["call"]).is_keyed else 0
            counts["throttled"] += group["call_count"] if group["status"] == HTTPStatus.TOO_MANY_REQUESTS else 0
        began += filter(None, (pc.min(table["started_at"]).as_py(), pc.max(table["started_at"]).as_py()))
        sunsets = table["sunset"].drop_null()
        sunset = sunsets[-1].as_py() if len(sunsets) else sunset
    times = {"started_at": min(began, default=None), "finished_at": max(began, default=None)}
    return {**counts, **times, "sunset": sunset}


def _control_calls(results: Results, names: Iterable[str]) -> int:
    is_control = pc.field("call").isin([Call.UPLOADS, Call.VERIFY]) & pc.field("manifest_row").is_null()
    tables = results.tables(names, ["call", "manifest_row", "bytes_sent"])
    return sum(table.filter(is_control & pc.field("bytes_sent").is_valid()).num_rows for table in tables)


def _calls_again(results: Results, plan: Plan, leg: int, own: Iterable[str]) -> int:
    """Count the calls of a leg that repeat a call which an earlier leg was answered for the same row.

    Such a row had no outcome: its leg was killed or stopped between its calls, or a control kept the row back. One
    byte for each row and kind of call is kept in memory; of keyed calls, two kinds belong to rows.
    """
    earlier = [name for name in results.parts_of("exchanges", plan) if layout.leg_of(name) < leg]
    if not earlier:
        return 0
    status = pc.field("status")
    is_answered = (status >= 200) & (status < 300) & pc.field("failure").is_null()  # noqa: PLR2004 - the class of statuses
    answered: defaultdict[str, bytearray] = defaultdict(lambda: bytearray(plan.items))
    for call, row in _work_in(results, earlier, is_answered):
        answered[call][row] = 1
    is_sent = pc.field("call").isin(_KEYED) & pc.field("bytes_sent").is_valid()
    return sum(int(answered[call][row]) for call, row in _work_in(results, own, is_sent))


def _work_in(results: Results, names: Iterable[str], condition: pc.Expression) -> Iterator[tuple[str, int]]:
    condition = condition & pc.field("call").isin(_KEYED) & pc.field("manifest_row").is_valid()
    for table in results.tables(names, ["manifest_row", "call", "status", "failure", "bytes_sent"]):
        work = table.filter(condition).to_pydict()
        yield from zip(work["call"], work["manifest_row"], strict=True)
