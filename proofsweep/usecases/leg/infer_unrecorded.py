"""Find out what a killed leg spent beyond its journal: its first figure of the quota against its successor's."""

from bisect import bisect_left
from collections.abc import Sequence
from datetime import datetime, timedelta
from http import HTTPStatus

import pyarrow.compute as pc

from proofsweep.domain.exchanges import Call
from proofsweep.domain.runs import Plan
from proofsweep.domain.tables.columns import Row
from proofsweep.domain.unrecorded import Arrival, Figure, calls_unrecorded
from proofsweep.storage.results.results import Results
from proofsweep.usecases.leg.runs_row import CHARGED, exchanges_of_leg

_COLUMNS = ["call", "status", "bytes_sent", "started_at", "rate_limit", "rate_remaining", "rate_reset"]
_BUSY = timedelta(seconds=10)
_WINDOW = timedelta(days=32)
_USAGE = (pc.field("call") == str(Call.USAGE)) & (pc.field("status") == HTTPStatus.OK)


def infer_unrecorded(results: Results, plan: Plan, leg: int, facts: Row, after: Arrival | None) -> int | None:
    """Give the calls of a leg, all of whose journal is published, that no exchange tells of; None if not known.

    Args:
        results: where the leg's exchanges are.
        plan: of the run.
        leg: the one that was killed.
        facts: what it knew when it was claimed.
        after: how its successor found the quota; None if that was not told.
    """
    if after is None or facts.get("key_fingerprint") != after.key_fingerprint:
        return None
    exchanges = exchanges_of_leg(results, plan, leg, _COLUMNS).sort_by("started_at")
    told = next(iter(exchanges.filter(_USAGE & pc.field("rate_remaining").is_valid()).slice(0, 1).to_pylist()), None)
    if told is None or _others_at_work(results, plan, after.key_fingerprint, told["started_at"]):
        return None
    before = Figure(remaining=told["rate_remaining"], limit=told["rate_limit"], reset=told["rate_reset"])
    charged = exchanges.filter(CHARGED)
    since = charged.filter(pc.field("started_at") > told["started_at"])
    return calls_unrecorded(
        before,
        after,
        recorded=since.num_rows,
        throttled=since.filter(pc.field("status") == HTTPStatus.TOO_MANY_REQUESTS).num_rows,
        busiest=_busiest([at for at in charged["started_at"].to_pylist() if at is not None]),
    )


def _busiest(calls: Sequence[datetime]) -> int:
    """Count the calls of the busiest ten seconds; `calls` are in order."""
    return max((number + 1 - bisect_left(calls, at - _BUSY) for number, at in enumerate(calls)), default=0)


def _others_at_work(results: Results, plan: Plan, key_fingerprint: str, since: datetime) -> bool:
    """Say whether a leg of another run in this store has used the key meanwhile."""
    oldest = f"run_date={(since - _WINDOW).date().isoformat()}"
    names = [name for name in results.all_parts("runs") if name.split("/")[1] >= oldest]
    legs = results.table("runs", names, ["run_id", "key_fingerprint", "finished_at"]).to_pylist()
    others = (leg for leg in legs if leg["run_id"] != plan.run_id and leg["key_fingerprint"] == key_fingerprint)
    return any(leg["finished_at"] is None or leg["finished_at"] > since for leg in others)
