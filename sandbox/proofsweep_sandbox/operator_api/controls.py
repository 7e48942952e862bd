"""Controls: tenants, keys, lanes, quotas, latencies, faults, unspecified behaviour and time."""

from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from proofsweep_sandbox.answers import not_found
from proofsweep_sandbox.api.proofs import remove
from proofsweep_sandbox.faults.rules import Fault
from proofsweep_sandbox.service import Service
from proofsweep_sandbox.throttle import Lane
from proofsweep_sandbox.unspecified import Unspecified


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class TenantBody(_Body):
    """A tenant with its first key; `quota` is in calls per month, by default the sandbox's."""

    name: str
    quota: int | None = Field(default=None, ge=0)


class KeyBody(_Body):
    """One more key of a tenant, with its own quota in calls per month."""

    name: str
    quota: int | None = Field(default=None, ge=0)


class LaneBody(_Body):
    """A throttle lane, `calls` or `rotate`: `rate` in calls per second, `burst` in calls at once."""

    lane: str = "calls"
    rate: float = Field(gt=0)
    burst: float = Field(ge=1)


class QuotaBody(_Body):
    """The monthly quota of each of a tenant's keys, by default the first tenant's."""

    limit: int = Field(ge=0)
    tenant: str | None = None


class LatencyBody(_Body):
    """The delay of a call's answers (`*` for all calls); 0 ends it."""

    call: str
    seconds: float = Field(ge=0)


class UnspecifiedBody(_Body):
    """The seed of the unspecified behaviour, 0 for the default, and whether to be a later release."""

    seed: int = 0
    evolve: bool = False


class ClockBody(_Body):
    """How far to move the sandbox's time; negative seconds move it back."""

    seconds: float


async def add_tenant(service: Service, request: Request) -> Response:
    """Create a tenant and return its first key."""
    body = TenantBody.model_validate_json(await request.body())
    quota = service.options.quota if body.quota is None else body.quota
    key = service.keys.add_tenant(body.name, quota)
    return JSONResponse({"tenant": key.tenant, "keyId": key.key_id, "apiKey": key.secret}, 201)


async def add_key(service: Service, request: Request) -> Response:
    """Add a key to a tenant and return it."""
    body = KeyBody.model_validate_json(await request.body())
    tenant = known_tenant(service, request.path_params["tenant"])
    quota = service.options.quota if body.quota is None else body.quota
    key = service.keys.add_key(tenant, body.name, quota)
    return JSONResponse({"tenant": key.tenant, "keyId": key.key_id, "apiKey": key.secret}, 201)


async def set_lane(service: Service, request: Request) -> Response:
    """Change a throttle lane; its token buckets are full again."""
    body = LaneBody.model_validate_json(await request.body())
    if not service.throttle.has_lane(body.lane):
        raise not_found("the lanes are calls and rotate")
    service.throttle.set_lane(body.lane, Lane(rate=body.rate, burst=body.burst))
    return Response(status_code=204)


async def set_quota(service: Service, request: Request) -> Response:
    """Change a monthly quota; the used calls still count."""
    body = QuotaBody.model_validate_json(await request.body())
    for key in service.keys.of_tenant(known_tenant(service, body.tenant)):
        service.meters.set_quota(key.meter, body.limit)
    return Response(status_code=204)


async def set_latency(service: Service, request: Request) -> Response:
    """Change the latency of a call."""
    body = LatencyBody.model_validate_json(await request.body())
    service.faults.set_latency(body.call, body.seconds)
    return Response(status_code=204)


async def add_fault(service: Service, request: Request) -> Response:
    """Add a fault after the active ones."""
    service.faults.add(Fault.model_validate_json(await request.body()))
    return Response(status_code=204)


async def clear_faults(service: Service, _request: Request) -> Response:
    """Remove all faults and latencies."""
    service.faults.clear()
    return Response(status_code=204)


async def set_unspecified(service: Service, request: Request) -> Response:
    """Change the unspecified behaviour, from the next call on."""
    body = UnspecifiedBody.model_validate_json(await request.body())
    service.unspecified, service.is_later_release = Unspecified.drawn(body.seed), body.evolve
    return Response(status_code=204)


async def move_clock(service: Service, request: Request) -> Response:
    """Move the sandbox's time."""
    service.clock.move(ClockBody.model_validate_json(await request.body()).seconds)
    return JSONResponse({"now": service.clock.now()})


async def complete(service: Service, request: Request) -> Response:
    """Turn a pending proof into an issued one."""
    if not service.proofs.complete(request.path_params["proof_id"]):
        raise not_found("there is no such proof")
    return Response(status_code=204)


async def erase(service: Service, request: Request) -> Response:
    """Erase a proof of any tenant; no quota counts it."""
    proof = service.proofs.find(request.path_params["proof_id"])
    if proof is None:
        raise not_found("there is no such proof")
    remove(service, proof, service.clock.second())
    return Response(status_code=204)


def known_tenant(service: Service, tenant: str | None) -> str:
    """Return the tenant, by default the first one; raise a 404 for an unknown tenant."""
    found = tenant or service.keys.first_tenant()
    if found is None or not service.keys.has_tenant(found):
        raise not_found("there is no such tenant")
    return found
