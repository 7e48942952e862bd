"""GET /partner/usage: calls per UTC day, from the meters that also enforce the quota."""

from proofsweep_sandbox.answers import Answer, json_answer
from proofsweep_sandbox.api.queries import whole_number
from proofsweep_sandbox.later_release import NEW_PERIOD
from proofsweep_sandbox.registry.meters import UsageDay
from proofsweep_sandbox.routing import Exchange
from proofsweep_sandbox.service import Service
from proofsweep_sandbox.unspecified import Unspecified


async def show(service: Service, exchange: Exchange) -> Answer:
    """Return the calls of each of the last UTC days, including this call."""
    # Contract, Limits: usage window 1-90 days, default 30.
    count = whole_number(exchange.request.query_params, "days", highest=90, default=30)
    now, meter = service.clock.now(), exchange.caller.meter
    unspecified, limit = service.unspecified, service.meters.read(meter, now).limit
    plan: dict[str, object] = {
        "quotaLimit": limit if unspecified.quota_type == "whole" else float(limit),
        "quotaPeriod": NEW_PERIOD if service.is_later_release else unspecified.quota_period,
    }
    days = [_entry(day, unspecified) for day in service.meters.days(meter, now, count)]
    return json_answer({"plan": plan, "days": days if unspecified.day_order == "oldest_first" else days[::-1]})


def _entry(day: UsageDay, unspecified: Unspecified) -> dict[str, object]:
    counted = {"whole": int, "float": float, "text": str}[unspecified.day_counts]
    label = day.date.strftime(unspecified.day_label)
    return {"date": label, "used": counted(day.used), "remaining": counted(day.remaining)}
