"""Records: exchanges, usage, rotations, faults, secrets and the present behaviour."""

from dataclasses import asdict

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from proofsweep_sandbox.operator_api.controls import known_tenant
from proofsweep_sandbox.service import Service


async def rotations(service: Service, _request: Request) -> Response:
    """Return the append-only log of rotations and expiries."""
    return JSONResponse({"events": service.keys.log(service.clock.second())})


async def usage(service: Service, request: Request) -> Response:
    """Return the state of each of a tenant's meters, and the calls of today; this counts no call."""
    now = service.clock.now()
    keys = service.keys.of_tenant(known_tenant(service, request.query_params.get("tenant")))
    return JSONResponse(
        {
            "keys": [
                {
                    "keyId": key.key_id,
                    **asdict(service.meters.read(key.meter, now)),
                    "today": service.meters.days(key.meter, now, 1)[0].used,
                }
                for key in keys
            ]
        }
    )


async def exchanges(service: Service, request: Request) -> Response:
    """Return the exchanges after a sequence number, oldest first; a null status means that no header was sent."""
    return JSONResponse({"exchanges": service.exchanges.after(int(request.query_params.get("after", "0")))})


async def unspecified(service: Service, _request: Request) -> Response:
    """Return the unspecified behaviour of this sandbox, and whether it is a later release."""
    return JSONResponse({"choices": asdict(service.unspecified), "evolve": service.is_later_release})


async def secrets(service: Service, _request: Request) -> Response:
    """Return every secret that was ever given out."""
    return JSONResponse({"secrets": service.secrets.all()})


async def faults(service: Service, _request: Request) -> Response:
    """Return the active faults, each with the calls that it met and struck."""
    rules = service.faults.rules
    active = [{**rule.fault.model_dump(mode="json"), "met": rule.met, "struck": rule.struck} for rule in rules]
    return JSONResponse({"faults": active})
