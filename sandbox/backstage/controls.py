"""Controls: tenants and keys, lanes and quotas, faults and time."""

from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from sandbox.answers import not_found
from sandbox.api.proofs import remove
from sandbox.faults import Fault
from sandbox.mutants import MUTANTS
from sandbox.service import Service
from sandbox.silences import Silences
from sandbox.throttle import Lane


class _Wish(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class NewTenant(_Wish):
    """A tenant with its first key; `quota` is monthly, by default the sandbox's own."""

    name: str
    quota: int | None = Field(default=None, ge=0)


class NewKey(_Wish):
    """One more key for a tenant, with a monthly quota of its own."""

    name: str
    quota: int | None = Field(default=None, ge=0)


class LaneWish(_Wish):
    """A throttle lane, `calls` or `rotate`: calls per second, and calls at once."""

    lane: str = "calls"
    rate: float = Field(gt=0)
    burst: float = Field(ge=1)


class QuotaWish(_Wish):
    """The monthly quota of each of a tenant's keys, by default the first tenant's."""

    limit: int = Field(ge=0)
    tenant: str | None = None


class LatencyWish(_Wish):
    """How many seconds later a call (`*` for all) is answered; 0 ends it."""

    call: str
    seconds: float = Field(ge=0)


class SilencesWish(_Wish):
    """How to fill the contract's silences, 0 for our own choices, and whether to be a later release."""

    seed: int = 0
    evolve: bool = False


class MutantWish(_Wish):
    """The mutant that is to answer in the service's place, None for the service itself."""

    name: str | None


class ClockWish(_Wish):
    """How far to move the sandbox's time; negative seconds go back."""

    seconds: float


async def add_tenant(service: Service, request: Request) -> Response:
    """Create a tenant and hand out its first key."""
    wish = NewTenant.model_validate_json(await request.body())
    quota = service.options.quota if wish.quota is None else wish.quota
    key = service.keys.add_tenant(wish.name, quota)
    return JSONResponse({"tenant": key.tenant, "keyId": key.key_id, "apiKey": key.secret}, 201)


async def add_key(service: Service, request: Request) -> Response:
    """Hand out one more key of a tenant."""
    wish = NewKey.model_validate_json(await request.body())
    tenant = known_tenant(service, request.path_params["tenant"])
    quota = service.options.quota if wish.quota is None else wish.quota
    key = service.keys.add_key(tenant, wish.name, quota)
    return JSONResponse({"tenant": key.tenant, "keyId": key.key_id, "apiKey": key.secret}, 201)


async def set_lane(service: Service, request: Request) -> Response:
    """Change a throttle lane; everybody's bucket is full again."""
    wish = LaneWish.model_validate_json(await request.body())
    if not service.throttle.has_lane(wish.lane):
        raise not_found("the lanes are calls and rotate")
    service.throttle.set_lane(wish.lane, Lane(rate=wish.rate, burst=wish.burst))
    return Response(status_code=204)


async def set_quota(service: Service, request: Request) -> Response:
    """Change a monthly quota; what was used stays used."""
    wish = QuotaWish.model_validate_json(await request.body())
    for key in service.keys.of_tenant(known_tenant(service, wish.tenant)):
        service.meters.set_quota(key.meter, wish.limit)
    return Response(status_code=204)


async def set_latency(service: Service, request: Request) -> Response:
    """Change how long a call takes."""
    wish = LatencyWish.model_validate_json(await request.body())
    service.faults.set_latency(wish.call, wish.seconds)
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
    wish = SilencesWish.model_validate_json(await request.body())
    service.silences, service.is_later_release = Silences.drawn(wish.seed), wish.evolve
    return Response(status_code=204)


async def set_mutant(service: Service, request: Request) -> Response:
    """Break one rule from the next call on, or none."""
    name = MutantWish.model_validate_json(await request.body()).name
    if name is not None and name not in MUTANTS:
        raise not_found("there is no such mutant")
    service.mutant = name or ""
    return Response(status_code=204)


async def move_clock(service: Service, request: Request) -> Response:
    """Move the sandbox's time."""
    service.clock.move(ClockWish.model_validate_json(await request.body()).seconds)
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
