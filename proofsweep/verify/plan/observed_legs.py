"""What the exchanges of earlier legs show of the service, for a rehearsal of the next leg."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import islice

from proofsweep.model import layout
from proofsweep.model.exchanges import Call
from proofsweep.model.forecast import MIN_ROWS, Measurement
from proofsweep.model.observed import ObservedService
from proofsweep.model.run_records import LegRecord
from proofsweep.model.runs import Plan
from proofsweep.model.tables.runs import stored_row
from proofsweep.store.plans_and_parts import Results
from proofsweep.verify.plan.history import newest_legs
from proofsweep.verify.rehearsal.observe import observed
from proofsweep.verify.rehearsal.seen_call import SeenCall

# Legs that sent something and are looked at. Chosen: as many as a forecast counts.
_LEGS = 10
# Of these, legs whose exchanges are read, some megabytes each: the lane of an older one may have changed.
_READ = 3
# Calls of a short leg that no item needs: two probes of the quota, and controls with their tries.
_CALLS_FOR_NO_ITEM = 20
_COLUMNS = [
    "call",
    "started_at",
    "elapsed_ms",
    "status",
    "failure",
    "bytes_sent",
    "retry_after_seconds",
    "manifest_row",
]


def observed_service(
    results: Results, environment: str, sample: Measurement | None, history: Sequence[Measurement]
) -> ObservedService | None:
    """Return what is known of the service by a sample, or by the newest leg of enough rows; None if nothing is.

    Its lane is that of the newest leg which reached it: a sample, and a short leg, rarely do. The CPU time of a row is
    the least of all legs, since a leg that waits spends some on waiting.

    Raises:
        ResultsError: the store cannot be read.
    """
    legs = list(islice(_observed_legs(results, environment), _READ))
    known = [*([] if sample is None or sample.service is None else [sample.service]), *legs]
    if not known:
        return None
    newest = next((one for one in known if one.rows >= MIN_ROWS), known[0])
    lane = next((one.lane for one in known if one.lane.is_reached), newest.lane)
    cpu_seconds = [one.cpu_seconds / one.rows for one in history if one.cpu_seconds is not None and one.rows]
    return replace(
        newest,
        lane=replace(lane, fastest=max(one.lane.fastest for one in known)),
        cpu_seconds=min(cpu_seconds, default=newest.cpu_seconds),
        overhead_seconds=next((one.overhead_seconds for one in legs), 0.0),
    )


def _observed_legs(results: Results, environment: str) -> Iterator[ObservedService]:
    for plan, leg in islice(newest_legs(results, environment), _LEGS):
        found = _observed(results, plan, leg)
        if found is not None:
            yield found


def _observed(results: Results, plan: Plan, leg: LegRecord) -> ObservedService | None:
    """Look at the first part of a leg's audit trail, with the search for the rate and some thousand rows."""
    row = stored_row(dict(leg.counts))
    name = layout.exchanges_name(plan.run_id, plan.run_date, 0, leg.leg)
    if not row.get("calls") or results.store.read(name) is None:
        return None
    calls = [_seen(cells) for cells in results.table("exchanges", [name], _COLUMNS).to_pylist() if _is_of_item(cells)]
    learned = row.get("rate_learned")
    return observed(
        calls,
        origin=f"run {plan.run_id}, leg {leg.leg}",
        learned_rate=learned if isinstance(learned, float) else None,
        overhead_seconds=_overhead_seconds(row, calls),
    )


def _is_of_item(cells: Mapping[str, object]) -> bool:
    return cells["manifest_row"] is not None and cells["call"] in {Call.UPLOADS, Call.SLOT, Call.VERIFY}


def _seen(cells: Mapping[str, object]) -> SeenCall:
    began, elapsed_ms, status = cells["started_at"], cells["elapsed_ms"], cells["status"]
    sent_bytes, retry_after = cells["bytes_sent"], cells["retry_after_seconds"]
    return SeenCall(
        call=Call(str(cells["call"])),
        began=began.timestamp() if isinstance(began, datetime) else 0.0,
        seconds=elapsed_ms / 1000 if isinstance(elapsed_ms, float) else 0.0,
        status=status if isinstance(status, int) and cells["failure"] is None else None,
        sent_bytes=sent_bytes if isinstance(sent_bytes, int) else 0,
        retry_after_seconds=retry_after if isinstance(retry_after, float) else None,
    )


def _overhead_seconds(row: Mapping[str, object], calls: Sequence[SeenCall]) -> float:
    """Return what a leg took before its first call and after its last; only the former if not all calls were read."""
    began, ended = row.get("started_at"), row.get("finished_at")
    if not calls or not isinstance(began, datetime) or not isinstance(ended, datetime):
        return 0.0
    before = max(0.0, min(call.began for call in calls) - began.timestamp())
    keyed = sum(call.call is not Call.SLOT for call in calls)
    is_whole = keyed >= int(str(row.get("calls"))) - _CALLS_FOR_NO_ITEM
    after = ended.timestamp() - max(call.ended for call in calls)
    return before + (max(0.0, after) if is_whole else 0.0)
