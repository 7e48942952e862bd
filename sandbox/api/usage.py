"""GET /partner/usage: what billing and throttling see."""

from sandbox.answers import Answer, json_answer
from sandbox.api.queries import whole_number
from sandbox.later_release import NEW_PERIOD
from sandbox.registry.meters import UsageDay
from sandbox.routing import Exchange
from sandbox.service import Service
from sandbox.unspecified import Unspecified


async def show(service: Service, exchange: Exchange) -> Answer:
    """Return the calls of each of the last UTC days, this call included."""
    # Contract, Limits: usage window 1-90 days, default 30.
    count = whole_number(exchange.request.query_params, "days", highest=90, default=30)
    now, meter = service.clock.now(), exchange.caller.meter
    silences, limit = service.unspecified, service.meters.read(meter, now).limit
    plan: dict[str, object] = {
        "quotaLimit": limit if silences.quota_type == "whole" else float(limit),
        "quotaPeriod": NEW_PERIOD if service.is_later_release else silences.quota_period,
    }
    days = [_told(day, silences) for day in service.meters.days(meter, now, count)]
    return json_answer({"plan": plan, "days": days if silences.day_order == "oldest_first" else days[::-1]})


def _told(day: UsageDay, silences: Unspecified) -> dict[str, object]:
    counted = {"whole": int, "float": float, "text": str}[silences.day_counts]
    label = day.date.strftime(silences.day_label)
    return {"date": label, "used": counted(day.used), "remaining": counted(day.remaining)}
