"""GET /partner/usage: what billing and throttling see."""

from sandbox.answers import Answer, json_answer
from sandbox.api.queries import whole_number
from sandbox.calls import Exchange
from sandbox.service import Service


async def show(service: Service, exchange: Exchange) -> Answer:
    """Return the calls of each of the last UTC days, this call included."""
    # Contract, Limits: usage window 1-90 days, default 30.
    count = whole_number(exchange.request.query_params, "days", highest=90, default=30)
    now, meter = service.clock.now(), exchange.caller.meter
    plan = {"quotaLimit": service.meters.read(meter, now).limit, "quotaPeriod": "MONTH"}
    return json_answer({"plan": plan, "days": service.meters.days(meter, now, count)})
