"""Count what a leg did, from its parts in the store alone, one after the other: a run may have millions of rows."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

import pyarrow as pa
import pyarrow.compute as pc

from proofsweep import __version__
from proofsweep.domain.contract import CONTRACT_VERSION
from proofsweep.domain.exchanges import Call
from proofsweep.domain.runs import Plan
from proofsweep.store import layout
from proofsweep.store.plans_and_parts import Results
from proofsweep.store.receipts import Part
from proofsweep.store.tables import runs
from proofsweep.store.tables.columns import Row, empty_row

_OUTCOMES = ("accepted", "rejected", "failed", "ineligible")
_THROTTLED = 429
_COUNTED = ["status", "bytes_sent", "sunset", "call", "started_at"]
_KEYED = [str(call) for call in Call if call.is_keyed]


@dataclass(frozen=True, slots=True)
class LegCounts:
    row: Row  # for `runs`, without how the leg ended and what remains; what only its process knows is null
    duplicates: int  # rows that another row's answer served; no call was made for them
    control_calls: int  # keyed calls of controls, which belong to no row


def count_leg(results: Results, plan: Plan, leg: int, verdicts: Sequence[Part], exchanges: Sequence[Part]) -> LegCounts:
    row: Row = empty_row(runs.COLUMNS)
    row |= {
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
    outcomes, duplicates, last_row = _outcomes_of(results, [part.name for part in verdicts])
    names = [part.name for part in exchanges]
    row |= outcomes | exchange_counts(results.tables(names, _COUNTED))
    row["finished_at"] = max(
        (each for each in (row["finished_at"], last_row) if isinstance(each, datetime)), default=None
    )
    row["calls_again"] = _calls_again(results, plan, leg, names)
    return LegCounts(row, duplicates, _control_calls(results, names))


_BY_OTHERS = ("answered_by_row", "answered_by_run")


def _outcomes_of(results: Results, names: Iterable[str]) -> tuple[Row, int, datetime | None]:
    outcomes: Counter[str] = Counter(dict.fromkeys(_OUTCOMES, 0))
    duplicates, ends = 0, []
    for table in results.tables(names, ["outcome", *_BY_OTHERS, "finished_at"]):
        outcomes.update(map(str, table["outcome"].to_pylist()))
        duplicates += sum(table.num_rows - table[name].null_count for name in _BY_OTHERS)
        ends.append(pc.max(table["finished_at"]).as_py())
    return dict(outcomes), duplicates, max(filter(None, ends), default=None)


def exchange_counts(tables: Iterable[pa.Table]) -> Row:
    """Add up the audit trail; an exchange without `bytes_sent` was never sent, so it was no call."""
    counts = dict.fromkeys(("bytes_sent", "calls", "throttled"), 0)
    began, sunset = [], None
    for table in tables:
        grouped = table.group_by(["call", "status"])
        for group in grouped.aggregate([("bytes_sent", "count"), ("bytes_sent", "sum"), ("call", "count")]).to_pylist():
            counts["bytes_sent"] += group["bytes_sent_sum"] or 0
            counts["calls"] += group["bytes_sent_count"] if Call(group["call"]).is_keyed else 0
            counts["throttled"] += group["call_count"] if group["status"] == _THROTTLED else 0
        began += [each for each in (pc.min(table["started_at"]).as_py(), pc.max(table["started_at"]).as_py()) if each]
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
