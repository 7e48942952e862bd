"""What legs leave for later ones: the index of runs, the newest answers, their rate, and how long they took.

All of it is derived from receipts and parts: it may be deleted, and no leg fails because it cannot be written.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from proofsweep.config.logs import Event, log
from proofsweep.domain.errors import ProofsweepError
from proofsweep.domain.exchanges import Call
from proofsweep.domain.items import Row
from proofsweep.domain.runs import Plan
from proofsweep.store import layout
from proofsweep.store.latest import refresh_if_due
from proofsweep.store.parts import Results
from proofsweep.store.rows import with_instants
from proofsweep.store.runs import LegPace, LegRecord, RunIndex, RunRecord
from proofsweep.verify.forecast import Measurement

if TYPE_CHECKING:
    from proofsweep.verify.service import Service

_RATED_LEGS = 10
_RATE_IS_KEPT = timedelta(days=7)
_MEASURED_LEGS = 10  # enough to even out a bad night
_MOST_START_SECONDS = 120.0  # a run that began later has waited for something
_LEAST_BETWEEN_SECONDS = 3.0  # between two refusals: a shorter time is a matter of chance
_REFUSED = 429
_KINDS = ["outcome", "verdict", "reason"]
_CALLS_OF_A_ROW = [str(Call.UPLOADS), str(Call.SLOT), str(Call.VERIFY)]


def note_run(results: Results, plan: Plan) -> None:
    """Add a planned run to the index."""
    _try_to(plan.run_id, "index", lambda: RunIndex(results).add([RunRecord(plan=plan)]))


def note_leg(results: Results, plan: Plan) -> None:
    """Add what the legs of a run left behind, once one of them has ended; what fails now, a later leg adds."""
    _try_to(plan.run_id, "index", lambda: _note_legs(results, plan))
    _try_to(plan.run_id, "latest", lambda: refresh_if_due(results))


def _added_up(counted: Sequence[pa.Table]) -> list[Row]:
    if not counted:
        return []
    groups = pa.concat_tables(counted).group_by(_KINDS).aggregate([("rows", "sum"), ("example", "min")])
    return list(groups.rename_columns([*_KINDS, "rows", "example"]).to_pylist())


def _try_to(run_id: str, what: str, update: Callable[[], object]) -> None:
    try:
        update()
    except ProofsweepError as error:
        log(Event.UPDATE_MISSED, run_id=run_id, what=what, why=error.message)
    except Exception as mistake:  # noqa: BLE001 - what is derived must not end a leg whose results are safe
        log(Event.UPDATE_MISSED, run_id=run_id, what=what, why=type(mistake).__name__)


def _note_legs(results: Results, plan: Plan) -> None:
    index = RunIndex(results)
    record = index.refreshed().records.get(plan.run_id)
    if record is not None and any(leg.groups is None for leg in record.legs):
        index.add([replace(record, legs=[_counted(results, plan, leg) for leg in record.legs])])


def _counted(results: Results, plan: Plan, leg: LegRecord) -> LegRecord:
    if leg.groups is not None:
        return leg
    names = [name for name in results.parts_of("verdicts", plan) if layout.leg_of(name) == leg.leg]
    counted = [
        table.group_by(_KINDS)
        .aggregate([("audio", "count"), ("audio", "min")])
        .rename_columns([*_KINDS, "rows", "example"])
        for table in results.tables(names, [*_KINDS, "audio"])
    ]
    return replace(leg, groups=_added_up(counted), pace=leg_pace(results, plan, leg.leg))


def remembered_rate(results: Results, service: "Service", processes: int = 1) -> float | None:
    """Return the rate with which a leg begins, or a process's share of it; None if no earlier leg has learned one."""
    since = service.clock() - _RATE_IS_KEPT
    rate = last_rate(results, service.settings.base_url, service.key_fingerprint, since)
    return None if rate is None else rate / processes


def last_rate(results: Results, base_url: str, key_fingerprint: str, since: datetime) -> float | None:
    """Return the calls a second that one of the newest legs learned with this key; None if all are older."""
    lane = (base_url.split("/")[2], key_fingerprint)
    legs = (leg for run in RunIndex(results).refreshed().newest_first() for leg in reversed(run.legs))
    for row in (with_instants("runs", dict(leg.counts)) for leg in islice(legs, _RATED_LEGS)):
        rate, finished_at = row.get("rate_learned"), row.get("finished_at")
        is_same_lane = (row.get("base_url_host"), row.get("key_fingerprint")) == lane
        if is_same_lane and isinstance(rate, float) and isinstance(finished_at, datetime) and finished_at >= since:
            return rate
    return None


def measured_legs(results: Results, environment: str) -> list[Measurement]:
    """Measure the newest legs that sent anything to this environment; the newest first."""
    runs = (run for run in RunIndex(results).refreshed().newest_first() if run.plan.environment == environment)
    legs = ((run.plan, leg) for run in runs for leg in reversed(run.legs))
    return list(islice((found for each in legs if (found := _measurement(results, *each))), _MEASURED_LEGS))


def _measurement(results: Results, plan: Plan, leg: LegRecord) -> Measurement | None:
    row = with_instants("runs", dict(leg.counts))
    rows = sum(_number(row, outcome) or 0 for outcome in ("accepted", "rejected", "failed"))
    rows -= _number(leg.receipt, "duplicates") or 0  # the next catalog may have none
    began, ended, rate = row.get("started_at"), row.get("finished_at"), row.get("rate_learned")
    if rows <= 0 or not isinstance(began, datetime) or not isinstance(ended, datetime) or ended <= began:
        return None
    before, after = _number(row, "quota_before"), _number(row, "quota_after")
    cpu_seconds = leg.receipt.get("cpu_seconds")
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
    name = layout.part_name("exchanges", plan.run_id, plan.run_date, 0, leg)
    if results.store.read(name) is None:
        return LegPace()
    table = results.table("exchanges", [name], ["call", "elapsed_ms", "manifest_row", "status", "started_at"])
    table = table.filter(pc.field("call").isin(_CALLS_OF_A_ROW) & pc.field("manifest_row").is_valid())
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

    Its bucket is empty at a refusal, so that what it lets through until the next one is what it adds. `sent` has the
    time of each call, in order, and whether it was refused.
    """
    rates, since, passed = [0.0], math.inf, 0
    for at, is_refused in sent:
        passed += not is_refused
        if is_refused:
            if at - since >= _LEAST_BETWEEN_SECONDS:
                rates.append(passed / (at - since))
            since, passed = at, 0
    return max(rates) or None
