"""What a monitor asks: GET /health, and GET /partner/usage from the meters that also enforce the quota."""

from proofsweep_sandbox.answers import Answer, json_answer
from proofsweep_sandbox.api.queries import whole_number
from proofsweep_sandbox.routing import Exchange
from proofsweep_sandbox.service import Service


async def health(service: Service, _exchange: Exchange) -> Answer:
    """Return a sentence that the service is up, with its version; no key is needed."""
    return json_answer({"ok": True, "version": "2.4.2", "commit": "sandbox", "deployedAt": service.started_at})


async def usage(service: Service, exchange: Exchange) -> Answer:
    """Return the calls of each of the last UTC days, including this call."""
    # Contract, Limits: usage window 1-90 days, default 30.
    count = whole_number(exchange.request.query_params, "days", highest=90, default=30)
    now, meter = service.clock.now(), exchange.caller.meter
    plan = {"quotaLimit": service.meters.read(meter, now).limit, "quotaPeriod": "MONTH"}
    return json_answer({"plan": plan, "days": service.meters.days(meter, now, count)})
