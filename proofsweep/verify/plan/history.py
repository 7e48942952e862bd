"""What earlier legs in the same store took, or a few items that are sent now, for a forecast of the next leg."""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import asdict, replace
from datetime import UTC, datetime
from itertools import islice

import pyarrow.compute as pc

from proofsweep.errors import CallFailed, ResultsError
from proofsweep.model import layout
from proofsweep.model.exchanges import Call
from proofsweep.model.forecast import Forecast, Measurement, Need, Quota, forecast
from proofsweep.model.items import WorkItem
from proofsweep.model.observed import service_of
from proofsweep.model.outcomes import Finished
from proofsweep.model.run_records import LegRecord
from proofsweep.model.runs import Plan
from proofsweep.model.tables.runs import stored_row
from proofsweep.partner.partner import Partner
from proofsweep.partner.stop import StopSwitch
from proofsweep.store.plans_and_parts import Results
from proofsweep.store.run_index import RunIndex
from proofsweep.store.store import Store
from proofsweep.verify.item.verify_item import VerifyContext, verify_item
from proofsweep.verify.rehearsal.observe import observed
from proofsweep.verify.rehearsal.seen_call import seen_call


def remember_sample(store: Store, environment: str, sample: Measurement, now: datetime) -> None:
    """Write a sample in the place of the last one.

    Raises:
        ResultsError: the store cannot be written.
    """
    document = {"measured_at": now.isoformat(), "sample": asdict(sample)}
    store.replace(layout.sample_name(environment), json.dumps(document, indent=2, default=str).encode())


def remembered_sample(store: Store, environment: str) -> tuple[Measurement, datetime] | None:
    """Return the last sample and when it was measured; None if there is none, or if it cannot be understood.

    Raises:
        ResultsError: the store cannot be read.
    """
    content = store.read(layout.sample_name(environment))
    try:
        document = json.loads(content or b"")
        members = dict(document["sample"])
        seen = members.pop("service", None)
        sample = Measurement(**members, service=None if seen is None else service_of(seen))
        return sample, datetime.fromisoformat(document["measured_at"]).astimezone(UTC)
    except (ValueError, TypeError, KeyError):
        return None


# chosen: enough legs to even out a bad night.
_LEGS = 10


def measured_legs(results: Results, environment: str) -> list[Measurement]:
    """Measure the newest legs that sent anything to this environment; the newest first."""
    legs = newest_legs(results, environment)
    return list(islice((found for each in legs if (found := _measured(results, *each)) is not None), _LEGS))


def newest_legs(results: Results, environment: str) -> Iterator[tuple[Plan, LegRecord]]:
    """Return the legs that have ended in an environment, the newest first, each with its plan."""
    runs = (run for run in RunIndex(results).refreshed().newest_first() if run.plan.environment == environment)
    return ((run.plan, leg) for run in runs for leg in reversed(run.legs))


def sample_since_last_leg(results: Results, environment: str) -> Measurement | None:
    """Return the last sample of an environment, unless a leg has ended since: what a leg took says more."""
    found = remembered_sample(results.store, environment)
    if found is None:
        return None
    sample, measured_at = found
    legs = (leg for _, leg in newest_legs(results, environment))
    last = next((stored_row(dict(leg.counts)).get("finished_at") for leg in legs), None)
    return None if isinstance(last, datetime) and last > measured_at else sample


def _measured(results: Results, plan: Plan, leg: LegRecord) -> Measurement | None:
    row = stored_row(dict(leg.counts))
    rows = sum(_number(row, outcome) or 0 for outcome in ("accepted", "rejected", "failed"))
    rows -= _number(leg.receipt, "duplicates") or 0  # the next catalog may have none
    began, ended = row.get("started_at"), row.get("finished_at")
    if rows <= 0 or not isinstance(began, datetime) or not isinstance(ended, datetime) or ended <= began:
        return None
    cpu_seconds = leg.receipt.get("cpu_seconds")
    share = upload_share(results, plan, leg.leg) if leg.groups is None else leg.upload_share
    return Measurement(
        rows=rows,
        seconds=(ended - began).total_seconds(),
        calls=_number(row, "calls") or 0,
        sent_bytes=_number(row, "bytes_sent") or 0,
        throttled=_number(row, "throttled") or 0,
        cpu_seconds=cpu_seconds if isinstance(cpu_seconds, float) else None,
        upload_share=share,
        quota_spent=_spent(_number(row, "quota_before"), _number(row, "quota_after")),
    )


def _number(cells: Mapping[str, object], name: str) -> int | None:
    found = cells.get(name)
    return found if isinstance(found, int) else None


def upload_share(results: Results, plan: Plan, leg: int) -> float | None:
    """Return which share of a leg's time in exchanges its uploads took, by the first part of its audit trail."""
    name = layout.exchanges_name(plan.run_id, plan.run_date, 0, leg)
    if results.store.read(name) is None:
        return None
    table = results.table("exchanges", [name], ["call", "elapsed_ms"])
    total = pc.sum(table["elapsed_ms"]).as_py()
    slots = pc.sum(table.filter(pc.field("call") == str(Call.SLOT))["elapsed_ms"]).as_py()
    return (slots or 0.0) / total if total else None


def forecast_by_history(
    results: Results,
    environment: str,
    *,
    need: Need,
    quota: Quota,
    now: datetime,
    ask_seconds: float,
    sample: Measurement | None = None,
) -> Forecast:
    """Forecast a run that begins now; a sample measured now, or since the last leg, counts before all legs."""
    history = measured_history(results, environment, sample)
    return forecast(need, quota_after(quota, sample), history, now, ask_seconds)


def measured_history(results: Results, environment: str, sample: Measurement | None) -> list[Measurement]:
    """Return a sample measured now, or since the last leg, and what the newest legs took."""
    newest = sample or sample_since_last_leg(results, environment)
    return [*([] if newest is None else [newest]), *measured_legs(results, environment)]


def quota_after(quota: Quota, sample: Measurement | None) -> Quota:
    """Return what is left of a quota that was looked at before a sample."""
    spent = 0 if sample is None else sample.quota_spent or 0
    return quota if quota.headroom is None else replace(quota, headroom=quota.headroom - spent)


_QUOTA_PROBES = 2
"""Keyed calls beside those of the items: GET /partner/usage before and after."""


def measure_sample(
    items: Sequence[WorkItem], context: VerifyContext, workers: Executor, headroom_before: int | None
) -> Measurement | None:
    """Verify items as a run would, and measure it; None if none of them got an answer.

    `headroom_before` is how many keyed calls were left before; None where the service does not say.
    """
    began, cpu_then = time.perf_counter(), time.process_time()
    ends = list(workers.map(lambda item: verify_item(item, context), items))
    seconds, cpu_seconds = time.perf_counter() - began, time.process_time() - cpu_then
    rows = sum(isinstance(end, Finished) and bool(end.exchanges) for end in ends)
    headroom = _headroom(context.partner)
    if not rows:
        return None
    exchanges = [exchange for end in ends for exchange in end.exchanges]
    all_ms = sum(each.elapsed_ms for each in exchanges)
    slots_ms = sum(each.elapsed_ms for each in exchanges if each.call is Call.SLOT)
    return Measurement(
        rows=rows,
        seconds=seconds,
        calls=sum(exchange.is_charged for exchange in exchanges) + _QUOTA_PROBES,
        sent_bytes=sum(exchange.bytes_sent or 0 for exchange in exchanges),
        throttled=sum(exchange.is_throttled for exchange in exchanges),
        cpu_seconds=cpu_seconds,
        upload_share=slots_ms / all_ms if all_ms else None,
        quota_spent=_spent(headroom_before, headroom),
        service=observed(
            map(seen_call, exchanges),
            origin=f"a sample of {rows:,}",
            learned_rate=context.partner.session.context.dispatcher.status().rate,
            cpu_seconds=cpu_seconds,
        ),
    )


def remembered(
    results: Results, environment: str, measured: Measurement | None, stop: StopSwitch, now: datetime
) -> Measurement | None:
    """Return a sample that was just measured, and remember it if it was answered; RunMustStop if it was stopped."""
    stop.check()
    if measured is not None:
        with suppress(ResultsError):  # a person who plans may have no right to write
            remember_sample(results.store, environment, measured, now)
    return measured


def _headroom(partner: Partner) -> int | None:
    try:
        return partner.with_attempts(1).usage(days=1)[1].rate_remaining
    except CallFailed:
        return None


def _spent(before: int | None, after: int | None) -> int | None:
    """Return by how much the headroom fell; None where it is not known, or rose."""
    return before - after if before is not None and after is not None and before >= after else None
