"""The ASGI application of the operator API, and its requests other than issuing."""

from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from proofsweep_sandbox.answers import Refusal, not_found
from proofsweep_sandbox.api.proofs import remove
from proofsweep_sandbox.faults import Fault
from proofsweep_sandbox.operator_api.issuing import issue, known_tenant
from proofsweep_sandbox.service import Service
from proofsweep_sandbox.throttle import Lane

_Action = Callable[[Service, Request], Awaitable[Response]]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _TenantBody(_Body):
    name: str
    quota: int | None = Field(default=None, ge=0)


class _LaneBody(_Body):
    lane: Literal["calls", "rotate"] = "calls"
    rate: float = Field(gt=0)
    burst: float = Field(ge=1)


class _QuotaBody(_Body):
    limit: int = Field(ge=0)
    tenant: str | None = None


class _ClockBody(_Body):
    seconds: float


async def _add_tenant(service: Service, request: Request) -> Response:
    body = _TenantBody.model_validate_json(await request.body())
    key = service.keys.add_tenant(body.name, service.options.quota if body.quota is None else body.quota)
    return JSONResponse({"tenant": key.tenant, "keyId": key.key_id, "apiKey": key.secret}, 201)


async def _set_lane(service: Service, request: Request) -> Response:
    body = _LaneBody.model_validate_json(await request.body())
    service.throttle.set_lane(body.lane, Lane(rate=body.rate, burst=body.burst))
    return Response(status_code=204)


async def _set_quota(service: Service, request: Request) -> Response:
    """Change a monthly quota; the used calls still count."""
    body = _QuotaBody.model_validate_json(await request.body())
    for key in service.keys.of_tenant(known_tenant(service, body.tenant)):
        service.meters.set_quota(key.meter, body.limit)
    return Response(status_code=204)


async def _move_clock(service: Service, request: Request) -> Response:
    service.clock.move(_ClockBody.model_validate_json(await request.body()).seconds)
    return Response(status_code=204)


async def _erase(service: Service, request: Request) -> Response:
    """Erase a proof of any tenant; no quota counts it."""
    proof = service.proofs.find(request.path_params["proof_id"])
    if proof is None:
        raise not_found("there is no such proof")
    remove(service, proof, service.clock.second())
    return Response(status_code=204)


async def _add_fault(service: Service, request: Request) -> Response:
    service.faults.add(Fault.model_validate_json(await request.body()))
    return Response(status_code=204)


async def _clear_faults(service: Service, _request: Request) -> Response:
    service.faults.clear()
    return Response(status_code=204)


async def _faults(service: Service, _request: Request) -> Response:
    rules = service.faults.rules
    active = [{**rule.fault.model_dump(mode="json"), "met": rule.met, "struck": rule.struck} for rule in rules]
    return JSONResponse({"faults": active})


async def _rotations(service: Service, _request: Request) -> Response:
    return JSONResponse({"events": service.keys.log(service.clock.second())})


async def _usage(service: Service, request: Request) -> Response:
    """Return the state of each of a tenant's meters, and the calls of today; this counts no call."""
    now, meters = service.clock.now(), service.meters
    keys = service.keys.of_tenant(known_tenant(service, request.query_params.get("tenant")))
    usage = [
        {"keyId": key.key_id, **asdict(meters.read(key.meter, now)), "today": meters.days(key.meter, now, 1)[0]["used"]}
        for key in keys
    ]
    return JSONResponse({"keys": usage})


async def _exchanges(service: Service, request: Request) -> Response:
    return JSONResponse({"exchanges": service.exchanges.after(int(request.query_params.get("after", "0")))})


async def _secrets(service: Service, _request: Request) -> Response:
    return JSONResponse({"secrets": service.secrets.all()})


ROUTES = (
    ("POST", "/proofs", issue),
    ("DELETE", "/proofs/{proof_id}", _erase),
    ("POST", "/tenants", _add_tenant),
    ("PUT", "/lane", _set_lane),
    ("PUT", "/quota", _set_quota),
    ("POST", "/clock", _move_clock),
    ("POST", "/faults", _add_fault),
    ("DELETE", "/faults", _clear_faults),
    ("GET", "/faults", _faults),
    ("GET", "/rotations", _rotations),
    ("GET", "/usage", _usage),
    ("GET", "/exchanges", _exchanges),
    ("GET", "/secrets", _secrets),
)


def operator_app(service: Service) -> Starlette:
    """Return the application of the operator port."""
    return Starlette(routes=[Route(path, _bound(service, action), methods=[method]) for method, path, action in ROUTES])


def _bound(service: Service, action: _Action) -> Callable[[Request], Awaitable[Response]]:
    """Bind an action to the service, and answer its refusals."""

    async def answer(request: Request) -> Response:
        try:
            return await action(service, request)
        except Refusal as refused:
            return JSONResponse({"error": refused.error, "code": refused.code}, refused.status)
        except ValidationError as error:
            return JSONResponse({"error": str(error), "code": "invalid_request"}, 400)

    return answer
