"""Count what a leg did, from the parts in the store alone."""

import pyarrow as pa
import pyarrow.compute as pc

from proofsweep import __version__
from proofsweep.contract import CONTRACT_VERSION
from proofsweep.domain import layout
from proofsweep.domain.exchanges import Call
from proofsweep.domain.runs import Plan
from proofsweep.domain.tables import runs
from proofsweep.domain.tables.columns import Row, empty_row
from proofsweep.storage.results.plans_and_parts import Results

_OUTCOMES = ("accepted", "rejected", "failed", "ineligible")
_THROTTLED = 429
_WORK = ["manifest_row", "call"]
_ANSWERED = (pc.field("status") >= 200) & (pc.field("status") < 300) & pc.field("failure").is_null()  # noqa: PLR2004 - the class of statuses

_CHARGED = pc.field("call").isin([str(call) for call in Call if call.is_keyed]) & pc.field("bytes_sent").is_valid()


def runs_row(results: Results, plan: Plan, leg: int) -> Row:
    """Make a leg's row, without how it ended; what only its process knows (service, key, quota) is null."""
    row: Row = empty_row(runs.COLUMNS)
    row |= {
        "run_id": plan.run_id,
        "leg": leg,
        "environment": plan.environment,
        "base_url_host": plan.base_url.split("/")[2],
        "catalog": plan.catalog,
        "catalog_digest": plan.catalog_digest,
        "items": plan.items,
        "skipped": 0,
        "contract_version": CONTRACT_VERSION,
        "proofsweep_version": __version__,
    }
    row |= _outcomes_of(results, plan, leg) | _exchanges_of(results, plan, leg)
    row["calls_again"] = _calls_again(results, plan, leg)
    return row


def duplicates_count(results: Results, plan: Plan, leg: int) -> int:
    """Count the rows of a leg that another row's answer served; no call was made for them."""
    table = _of_leg(results, plan, leg, "verdicts", ["answered_by_row"])
    return table.num_rows - table["answered_by_row"].null_count


def _outcomes_of(results: Results, plan: Plan, leg: int) -> Row:
    table = _of_leg(results, plan, leg, "verdicts", ["outcome"])
    found = table.group_by("outcome").aggregate([("outcome", "count")]).to_pylist()
    counts: Row = dict.fromkeys(_OUTCOMES, 0) | {group["outcome"]: group["outcome_count"] for group in found}
    finished = results.table("verdicts", results.parts_of("verdicts", plan), ["manifest_row"]).num_rows
    return counts | {"remaining": plan.items - finished}


def _exchanges_of(results: Results, plan: Plan, leg: int) -> Row:
    """Add up the audit trail; an exchange without `bytes_sent` was never sent, so it was no call."""
    table = _of_leg(results, plan, leg, "exchanges", ["call", "status", "bytes_sent", "started_at", "sunset"])
    grouped = table.group_by(["call", "status"])
    groups = grouped.aggregate([("bytes_sent", "count"), ("bytes_sent", "sum"), ("call", "count")]).to_pylist()
    sunsets = table["sunset"].drop_null()
    return {
        "bytes_sent": sum(group["bytes_sent_sum"] or 0 for group in groups),
        "calls": sum(group["bytes_sent_count"] for group in groups if Call(group["call"]).is_keyed),
        "throttled": sum(group["call_count"] for group in groups if group["status"] == _THROTTLED),
        "started_at": pc.min(table["started_at"]).as_py(),
        "finished_at": pc.max(table["started_at"]).as_py(),
        "sunset": sunsets[-1].as_py() if len(sunsets) else None,
    }


def _calls_again(results: Results, plan: Plan, leg: int) -> int:
    """Count the calls of a leg that repeat a call which an earlier leg was answered for the same row.

    Such a row had no outcome: its leg was killed or stopped between its calls, or an anomaly kept the row back. The
    parts of earlier legs are read one by one, since there may be many.
    """
    own = _of_leg(results, plan, leg, "exchanges", [*_WORK, "bytes_sent"]).filter(_CHARGED).select(_WORK)
    mine = _ANSWERED & pc.field("manifest_row").isin(own["manifest_row"].unique().drop_null())
    columns = [*_WORK, "status", "failure"]
    names = [name for name in results.parts_of("exchanges", plan) if layout.shard_and_leg_of(name)[1] < leg]
    had = (results.table("exchanges", [name], columns).filter(mine).select(_WORK) for name in names)
    return own.join(pa.concat_tables([own.slice(0, 0), *had]), _WORK, join_type="left semi").num_rows


def _of_leg(results: Results, plan: Plan, leg: int, table: str, columns: list[str]) -> pa.Table:
    names = [name for name in results.parts_of(table, plan) if layout.shard_and_leg_of(name)[1] == leg]
    return results.table(table, names, columns)
