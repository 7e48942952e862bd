"""End a leg, this process's own or a dead one: parts from the journal, then the receipt, then the row in `runs`."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime

import pyarrow as pa

from proofsweep.domain import layout
from proofsweep.domain.runs import EndedBy, Plan, shard_of
from proofsweep.domain.tables.columns import Row
from proofsweep.domain.tables.runs import stored_row
from proofsweep.errors import NameTaken, RunIsActive
from proofsweep.storage.results.journal import delete_journal, read_journal
from proofsweep.storage.results.legs import Legs
from proofsweep.storage.results.plans_and_parts import Part, Results
from proofsweep.usecases.leg.runs_row import duplicates_count, runs_row

# Bounds the memory for one part to some 25 MB. Chosen: half makes twice the objects; twice needs twice the memory.
_EXCHANGES_PER_PART = 25_000


@dataclass(frozen=True, slots=True, kw_only=True)
class LegEnd:
    """How a leg ended, and what only its own process knows.

    Attributes:
        why: one sentence for a person, where it ended early.
        facts: cells of the `runs` row: service, key fingerprint, quota, flow run, begin and end.
        cpu_seconds: that its process used during the leg.
        quota_reset: when the quota resets, as the service last said.
    """

    leg: int
    ended_by: EndedBy
    why: str | None = None
    facts: Row = field(default_factory=dict)
    cpu_seconds: float | None = None
    quota_reset: datetime | None = None


def settle_leg(results: Results, plan: Plan, end: LegEnd, legs: Legs) -> Row:
    """Publish what a leg finished, write its receipt and its row; give the row.

    (1) rows of the journal that are in no part become parts, (2) so do its exchanges, (3) the receipt is written, (4)
    then the row in `runs`, (5) and the journal is deleted. If it breaks off, the next process does all of it again.

    Raises:
        RunIsActive: another process settles this leg, or has taken it over.
    """
    try:
        _publish_rows(results, plan, end)  # (1)
        _publish_exchanges(results, plan, end.leg)  # (2)
        row = runs_row(results, plan, end.leg) | {"ended_by": str(end.ended_by)} | end.facts
        if row["remaining"] == 0:  # a request to stop came too late
            row["ended_by"] = str(EndedBy.COMPLETE)
        elif end.ended_by is EndedBy.COMPLETE:
            end = replace(end, ended_by=EndedBy.ERROR, why="Rows remain, and nothing says why.")
            row["ended_by"] = str(end.ended_by)
        notes = {"why": end.why, "cpu_seconds": end.cpu_seconds, "quota_reset": end.quota_reset}
        notes["duplicates"] = duplicates_count(results, plan, end.leg)
        legs.write_receipt(end.leg, _receipt(results, plan, row, legs) | notes)  # (3)
    except NameTaken as taken:
        raise RunIsActive(f"Leg {end.leg} of run {plan.run_id} was taken over by another process.") from taken
    write_runs_row(results, plan, legs, end.leg)  # (4)
    delete_journal(results, plan.run_id, end.leg)  # (5)
    return row


def write_runs_row(results: Results, plan: Plan, legs: Legs, leg: int) -> None:
    """Write a settled leg's row as its receipt has it, unless it is there."""
    receipt = legs.receipt(leg) or {}
    cells = receipt.get("counts")
    if isinstance(cells, dict):
        with suppress(NameTaken):
            results.create_part(layout.runs_name(plan.run_id, plan.run_date, leg), "runs", [stored_row(cells)])


def _publish_rows(results: Results, plan: Plan, end: LegEnd) -> None:
    """Make parts of finished rows; of a killed leg empty ones too.

    The empty parts occupy the names: the process of that leg may only have slept, and must not publish a row again.
    """
    waiting = _unpublished_rows(results, plan, end.leg)
    for shard in range(plan.shards):
        name = layout.verdicts_name(plan.run_id, plan.run_date, shard, end.leg)
        rows = waiting.get(shard, [])
        if rows:
            results.create_part(name, "verdicts", rows)
        elif end.ended_by is EndedBy.KILLED and len(results.finished_rows(plan, shard)) < _rows_in(plan, shard):
            with suppress(NameTaken):
                results.create_part(name, "verdicts", [])


def _rows_in(plan: Plan, shard: int) -> int:
    return min(plan.shard_items, plan.items - shard * plan.shard_items)


def _unpublished_rows(results: Results, plan: Plan, leg: int) -> dict[int, list[Row]]:
    """Collect the journal's rows that are in no part, by shard, each row once; the others are not read."""
    published: dict[int, set[int]] = {}
    rows: dict[int, dict[int, Row]] = {}

    def is_waiting(number: int) -> bool:
        shard = shard_of(plan, number)
        if shard not in published:
            published[shard] = results.finished_rows(plan, shard)
        return number not in published[shard]

    for segment in read_journal(results, plan.run_id, leg, "verdicts"):
        waiting = [number is not None and is_waiting(number) for number in segment["manifest_row"].to_pylist()]
        for row in segment.filter(pa.array(waiting, pa.bool_())).to_pylist():
            number = int(row["manifest_row"])
            rows.setdefault(shard_of(plan, number), {}).setdefault(number, row)
    return {shard: [found[number] for number in sorted(found)] for shard, found in rows.items()}


def _publish_exchanges(results: Results, plan: Plan, leg: int) -> None:
    """Make parts of the leg's whole audit trail; a part that exists has the same rows."""
    for seq, rows in enumerate(_in_portions(read_journal(results, plan.run_id, leg, "exchanges"))):
        with suppress(NameTaken):
            results.create_part(layout.exchanges_name(plan.run_id, plan.run_date, seq, leg), "exchanges", rows)


def _in_portions(segments: Iterator[pa.Table]) -> Iterator[pa.Table]:
    waiting: list[pa.Table] = []
    for segment in segments:
        waiting.append(segment)
        if sum(table.num_rows for table in waiting) >= _EXCHANGES_PER_PART:
            yield pa.concat_tables(waiting)
            waiting = []
    if waiting:
        yield pa.concat_tables(waiting)


def _receipt(results: Results, plan: Plan, row: Row, legs: Legs) -> dict[str, object]:
    leg = int(str(row["leg"]))
    return {
        "run_id": plan.run_id,
        "leg": leg,
        "ended_by": row["ended_by"],
        "counts": row,
        "parts": [asdict(part) for part in _parts_of_leg(results, plan, leg)],
        "plan_sha256": results.plan_digest(plan.run_id),
        "previous_receipt_sha256": legs.receipt_digest(leg - 1) if leg > 1 else None,
    }


def _parts_of_leg(results: Results, plan: Plan, leg: int) -> list[Part]:
    names = [*results.parts_of("verdicts", plan), *results.parts_of("exchanges", plan)]
    return [results.part(name) for name in names if layout.shard_and_leg_of(name)[1] == leg]
