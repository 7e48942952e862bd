"""The operator API: controls and records outside the contract. It needs no key, so keep it on loopback."""

import asyncio
import base64
import hashlib
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import asdict

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from proofsweep_sandbox import storage
from proofsweep_sandbox.answers import Refusal, malformed, not_found
from proofsweep_sandbox.api import gateway
from proofsweep_sandbox.faults import Fault
from proofsweep_sandbox.registry.proofs import Proof
from proofsweep_sandbox.seals.identity import Identity, Signer
from proofsweep_sandbox.service import Service
from proofsweep_sandbox.throttle import Lane


class IssueQuery(BaseModel):
    """The options of a new proof, by default of the first tenant; a stranger's is never registered."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    song: str = "Untitled"
    tenant: str | None = None
    legacy: bool = False
    sealed_by: Signer = Signer.SERVICE
    registered: bool = True
    pending: bool = False


async def issue(service: Service, request: Request) -> Response:
    """Seal the audio in the body; return the credentialed WAV, or the sidecar of a legacy pair."""
    query = IssueQuery.model_validate(dict(request.query_params))
    tenant = known_tenant(service, query.tenant)
    audio = await request.body()
    if not audio:
        raise malformed("the body holds no audio")
    proof_id = f"prf_{secrets.token_hex(12)}"
    identity = Identity(proof_id=proof_id, song=query.song, created_at=service.clock.second())
    if not query.legacy:
        audio = await asyncio.to_thread(service.one_file.seal, audio, identity, query.sealed_by)
    # A one-file proof has a sidecar too, which is bound to the credentialed copy.
    audio_sha256 = hashlib.sha256(audio).hexdigest()
    sidecar = service.sidecars.seal(audio_sha256, identity, query.sealed_by)
    service.secrets.add(base64.b64encode(sidecar).decode())
    # The service never trusts a stranger, so the registry knows none of its proofs.
    if query.registered and query.sealed_by is not Signer.STRANGER:
        asset = None
        if not query.legacy:
            asset = f"{proof_id}.wav"
            file = service.folder("assets") / asset
            file.write_bytes(audio)
        proof = Proof(
            proof_id=proof_id,
            tenant=tenant,
            song=query.song,
            issued_at=identity.created_at,
            sealed_by=query.sealed_by,
            pending=query.pending,
            sidecar=sidecar,
            asset=asset,
        )
        service.proofs.add(proof)
    headers = {"x-proof-id": proof_id, "x-issued-at": str(identity.created_at)}
    issued = sidecar if query.legacy else audio
    return Response(issued, headers=headers)


def known_tenant(service: Service, tenant: str | None) -> str:
    """Return the tenant, by default the first one; raise a 404 for an unknown tenant."""
    known = tenant or service.keys.first_tenant()
    if known is None or not service.keys.of_tenant(known):
        raise not_found("there is no such tenant")
    return known


_CALLS = {"unknown", "*"}
_CALLS |= {endpoint.name for endpoint in gateway.ENDPOINTS}
_CALLS |= {endpoint.name for endpoint in storage.ENDPOINTS}
_Action = Callable[[Service, Request], Awaitable[Response]]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _TenantBody(_Body):
    name: str
    quota: int | None = Field(default=None, ge=0)


class _LaneBody(_Body):
    rate: float = Field(gt=0)
    burst: float = Field(ge=1)


class _QuotaBody(_Body):
    limit: int = Field(ge=0)
    tenant: str | None = None


class _ClockBody(_Body):
    seconds: float


async def _add_tenant(service: Service, request: Request) -> Response:
    body = _TenantBody.model_validate_json(await request.body())
    quota = service.options.quota if body.quota is None else body.quota
    key = service.keys.add_tenant(body.name, quota)
    members = {"tenant": key.tenant, "keyId": key.key_id, "apiKey": key.secret}
    return JSONResponse(members, 201)


async def _set_lane(service: Service, request: Request) -> Response:
    body = _LaneBody.model_validate_json(await request.body())
    service.throttle.set_lane("calls", Lane(rate=body.rate, burst=body.burst))
    return Response(status_code=204)


async def _set_quota(service: Service, request: Request) -> Response:
    """Change a monthly quota; the used calls still count."""
    body = _QuotaBody.model_validate_json(await request.body())
    tenant = known_tenant(service, body.tenant)
    for key in service.keys.of_tenant(tenant):
        service.meters.set_quota(key.meter, body.limit)
    return Response(status_code=204)


async def _move_clock(service: Service, request: Request) -> Response:
    body = _ClockBody.model_validate_json(await request.body())
    service.clock.move(body.seconds)
    return Response(status_code=204)


async def _erase(service: Service, request: Request) -> Response:
    """Erase a proof of any tenant; no quota counts it."""
    proof = service.proofs.find(request.path_params["proof_id"])
    if proof is None:
        raise not_found("there is no such proof")
    service.erase(proof)
    return Response(status_code=204)


async def _add_fault(service: Service, request: Request) -> Response:
    fault = Fault.model_validate_json(await request.body())
    # A fault of a call that nobody makes would never strike, and its test would pass without it.
    if fault.call not in _CALLS:
        calls = ", ".join(sorted(_CALLS))
        raise malformed(f"there is no call {fault.call}, but {calls}")
    service.faults.add(fault)
    return Response(status_code=204)


async def _clear_faults(service: Service, _request: Request) -> Response:
    service.faults.clear()
    return Response(status_code=204)


async def _faults(service: Service, _request: Request) -> Response:
    faults: list[dict[str, object]] = []
    for rule in service.faults.rules:
        members = rule.fault.model_dump(mode="json")
        faults.append({**members, "met": rule.met, "struck": rule.struck})
    return JSONResponse({"faults": faults})


async def _usage(service: Service, request: Request) -> Response:
    """Return the state of each of a tenant's meters, and the calls of today; this counts no call."""
    now = service.clock.now()
    tenant = known_tenant(service, request.query_params.get("tenant"))
    usage: list[dict[str, object]] = []
    for key in service.keys.of_tenant(tenant):
        reading = service.meters.read(key.meter, now)
        (today,) = service.meters.days(key.meter, now, 1)
        members = {"keyId": key.key_id, **asdict(reading)}
        members["today"] = today["used"]
        usage.append(members)
    return JSONResponse({"keys": usage})


async def _exchanges(service: Service, request: Request) -> Response:
    after = int(request.query_params.get("after", "0"))
    return JSONResponse({"exchanges": service.exchanges.after(after)})


async def _secrets(service: Service, _request: Request) -> Response:
    return JSONResponse({"secrets": service.secrets.all()})


_CONTROLS = (
    ("POST", "/proofs", issue),
    ("DELETE", "/proofs/{proof_id}", _erase),
    ("POST", "/tenants", _add_tenant),
    ("PUT", "/lane", _set_lane),
    ("PUT", "/quota", _set_quota),
    ("POST", "/clock", _move_clock),
    ("POST", "/faults", _add_fault),
    ("DELETE", "/faults", _clear_faults),
)
_RECORDS = (
    ("GET", "/faults", _faults),
    ("GET", "/usage", _usage),
    ("GET", "/exchanges", _exchanges),
    ("GET", "/secrets", _secrets),
)
ROUTES = (*_CONTROLS, *_RECORDS)


def operator_app(service: Service) -> Starlette:
    routes: list[Route] = []
    for method, path, action in ROUTES:
        answer = _bound(service, action)
        routes.append(Route(path, answer, methods=[method]))
    return Starlette(routes=routes)


def _bound(service: Service, action: _Action) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        try:
            return await action(service, request)
        except Refusal as refused:
            members = {"error": refused.error, "code": refused.code}
            return JSONResponse(members, refused.status)
        except ValidationError as error:
            return JSONResponse({"error": str(error), "code": "invalid_request"}, 400)

    return answer
