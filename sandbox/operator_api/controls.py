"""Controls: tenants and keys, lanes and quotas, faults and time."""

from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from sandbox.answers import not_found
from sandbox.api.proofs import remove
from sandbox.faults.rules import Fault
from sandbox.mutants import MUTANTS
from sandbox.service import Service
from sandbox.throttle import Lane
from sandbox.unspecified import Unspecified


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class TenantBody(_Body):
    """A tenant with its first key; `quota` is monthly, by default the sandbox's own."""

    name: str
    quota: int | None = Field(default=None, ge=0)


class KeyBody(_Body):
    """One more key for a tenant, with a monthly quota of its own."""

    name: str
    quota: int | None = Field(default=None, ge=0)


class LaneBody(_Body):
    """A throttle lane, `calls` or `rotate`: calls per second, and calls at once."""

    lane: str = "calls"
    rate: float = Field(gt=0)
    burst: float = Field(ge=1)


class QuotaBody(_Body):
    """The monthly quota of each of a tenant's keys, by default the first tenant's."""

    limit: int = Field(ge=0)
    tenant: str | None = None


class LatencyBody(_Body):
    """How many seconds later a call (`*` for all) is answered; 0 ends it."""

    call: str
    seconds: float = Field(ge=0)


class UnspecifiedBody(_Body):
    """How to fill the contract's silences, 0 for our own choices, and whether to be a later release."""

    seed: int = 0
    evolve: bool = False


class MutantBody(_Body):
    """The mutant that is to answer in the service's place, None for the service itself."""

    name: str | None


class ClockBody(_Body):
    """How far to move the sandbox's time; negative seconds go back."""

    seconds: float


async def add_tenant(service: Service, request: Request) -> Response:
    """Create a tenant and hand out its first key."""
    body = TenantBody.model_validate_json(await request.body())
    quota = service.options.quota if body.quota is None else body.quota
    key = service.keys.add_tenant(body.name, quota)
    return JSONResponse({"tenant": key.tenant, "keyId": key.key_id, "apiKey": key.secret}, 201)


async def add_key(service: Service, request: Request) -> Response:
    """Hand out one more key of a tenant."""
    body = KeyBody.model_validate_json(await request.body())
    tenant = known_tenant(service, request.path_params["tenant"])
    quota = service.options.quota if body.quota is None else body.quota
    key = service.keys.add_key(tenant, body.name, quota)
    return JSONResponse({"tenant": key.tenant, "keyId": key.key_id, "apiKey": key.secret}, 201)


async def set_lane(service: Service, request: Request) -> Response:
    """Change a throttle lane; everybody's bucket is full again."""
    body = LaneBody.model_validate_json(await request.body())
    if not service.throttle.has_lane(body.lane):
        raise not_found("the lanes are calls and rotate")
    service.throttle.set_lane(body.lane, Lane(rate=body.rate, burst=body.burst))
    return Response(status_code=204)


async def set_quota(service: Service, request: Request) -> Response:
    """Change a monthly quota; what was used stays used."""
    body = QuotaBody.model_validate_json(await request.body())
    for key in service.keys.of_tenant(known_tenant(service, body.tenant)):
        service.meters.set_quota(key.meter, body.limit)
    return Response(status_code=204)


async def set_latency(service: Service, request: Request) -> Response:
    """Change how long a call takes."""
    body = LatencyBody.model_validate_json(await request.body())
    service.faults.set_latency(body.call, body.seconds)
    return Response(status_code=204)


async def add_fault(service: Service, request: Request) -> Response:
    """Put a fault in force, after those that are in force already."""
    service.faults.add(Fault.model_validate_json(await request.body()))
    return Response(status_code=204)


async def clear_faults(service: Service, _request: Request) -> Response:
    """Drop all faults, latencies included."""
    service.faults.clear()
    return Response(status_code=204)


async def set_silences(service: Service, request: Request) -> Response:
    """Change the way in which the contract is kept, from the next call on."""
    body = UnspecifiedBody.model_validate_json(await request.body())
    service.unspecified, service.is_later_release = Unspecified.drawn(body.seed), body.evolve
    return Response(status_code=204)


async def set_mutant(service: Service, request: Request) -> Response:
    """Break one rule from the next call on, or none."""
    name = MutantBody.model_validate_json(await request.body()).name
    if name is not None and name not in MUTANTS:
        raise not_found("there is no such mutant")
    service.mutant = name or ""
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
    """Erase a proof, whoever holds it, without spending anybody's quota."""
    proof = service.proofs.find(request.path_params["proof_id"])
    if proof is None:
        raise not_found("there is no such proof")
    remove(service, proof, service.clock.second())
    return Response(status_code=204)


def known_tenant(service: Service, tenant: str | None) -> str:
    """Return the tenant, the first one where none is named; raise a 404 for one that is not known."""
    found = tenant or service.keys.first_tenant()
    if found is None or not service.keys.has_tenant(found):
        raise not_found("there is no such tenant")
    return found
