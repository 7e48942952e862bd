"""What earlier legs in the same store took, for a forecast of the next leg."""

import math
from collections.abc import Iterable, Mapping
from datetime import datetime
from itertools import islice

import pyarrow.compute as pc

from proofsweep.domain.exchanges import Call
from proofsweep.domain.runs import Plan
from proofsweep.store import layout
from proofsweep.store.parts import Results
from proofsweep.store.rows import with_instants
from proofsweep.store.run_records import LegPace, LegRecord
from proofsweep.store.runs import RunIndex
from proofsweep.verify.forecast import Measurement

_LEGS = 10  # enough to even out a bad night
_MOST_START_SECONDS = 120.0  # a run that began later has waited for something
_LEAST_BETWEEN_SECONDS = 3.0  # between two refusals: a shorter time is a matter of chance
_REFUSED = 429
_OF_A_ROW = [str(Call.UPLOADS), str(Call.SLOT), str(Call.VERIFY)]


def measured_legs(results: Results, environment: str) -> list[Measurement]:
    """Measure the newest legs that sent anything to this environment; the newest first."""
    runs = (run for run in RunIndex(results).refreshed().newest_first() if run.plan.environment == environment)
    legs = ((run.plan, leg) for run in runs for leg in reversed(run.legs))
    return list(islice((found for each in legs if (found := _measurement(results, *each)) is not None), _LEGS))


def _measurement(results: Results, plan: Plan, leg: LegRecord) -> Measurement | None:
    row = with_instants("runs", dict(leg.counts))
    rows = sum(_number(row, outcome) or 0 for outcome in ("accepted", "rejected", "failed"))
    rows -= _number(leg.receipt, "duplicates") or 0  # the next catalog may have none
    began, ended, rate = row.get("started_at"), row.get("finished_at"), row.get("rate_learned")
    if rows <= 0 or not isinstance(began, datetime) or not isinstance(ended, datetime) or ended <= began:
        return None
    cpu_seconds, before, after = (
        leg.receipt.get("cpu_seconds"),
        _number(row, "quota_before"),
        _number(row, "quota_after"),
    )
    pace = leg_pace(results, plan, leg.leg) if leg.groups is None else LegPace(*leg.pace or ())
    start_seconds = (began - datetime.fromisoformat(plan.created_at)).total_seconds()
    return Measurement(
        rows=rows,
        seconds=(ended - began).total_seconds(),
        calls=_number(row, "calls") or 0,
        sent_bytes=_number(row, "bytes_sent") or 0,
        throttled=_number(row, "throttled") or 0,
        rate=rate if isinstance(rate, float) else None,
        let_through=pace.let_through,
        cpu_seconds=cpu_seconds if isinstance(cpu_seconds, float) else None,
        call_seconds=pace.call_seconds,
        upload_seconds=pace.upload_seconds,
        start_seconds=start_seconds if leg.leg == 1 and 0.0 <= start_seconds <= _MOST_START_SECONDS else None,
        quota_spent=before - after if before is not None and after is not None and before >= after else None,
    )


def _number(cells: Mapping[str, object], name: str) -> int | None:
    found = cells.get(name)
    return found if isinstance(found, int) else None


def leg_pace(results: Results, plan: Plan, leg: int) -> LegPace:
    """Return what the first part of a leg's audit trail shows."""
    name = layout.exchanges_name(plan.run_id, plan.run_date, 0, leg)
    if results.store.read(name) is None:
        return LegPace()
    table = results.table("exchanges", [name], ["call", "elapsed_ms", "manifest_row", "status", "started_at"])
    table = table.filter(pc.field("call").isin(_OF_A_ROW) & pc.field("manifest_row").is_valid())
    rows = pc.count_distinct(table["manifest_row"]).as_py()
    if not rows:
        return LegPace()
    slots = table.filter(pc.field("call") == str(Call.SLOT))
    call_seconds, upload_seconds = (
        (pc.sum(each["elapsed_ms"]).as_py() or 0.0) / 1000 / rows for each in (table, slots)
    )
    keyed = table.filter(pc.field("call") != str(Call.SLOT)).sort_by("started_at").select(["started_at", "status"])
    sent = [(at.timestamp(), status == _REFUSED) for at, status in zip(*keyed.to_pydict().values(), strict=True)]
    return LegPace(call_seconds, upload_seconds, let_through(sent))


def let_through(sent: Iterable[tuple[float, bool]]) -> float | None:
    """Return how many calls a second the service let through between two refusals, at most; None if that is not known.

    Its bucket is empty at a refusal, so that what it lets through until the next one is what it adds.

    `sent` has the time of each call, in order, and whether it was refused.
    """
    rates, since, passed = [0.0], math.inf, 0
    for at, is_refused in sent:
        passed += not is_refused
        if is_refused:
            if at - since >= _LEAST_BETWEEN_SECONDS:
                rates.append(passed / (at - since))
            since, passed = at, 0
    return max(rates) or None
