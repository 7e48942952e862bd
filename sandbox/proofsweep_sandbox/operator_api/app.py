"""The ASGI application of the operator API."""

from collections.abc import Awaitable, Callable, Sequence

from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from proofsweep_sandbox.answers import Refusal
from proofsweep_sandbox.operator_api import controls, issuing, records
from proofsweep_sandbox.service import Service

Action = Callable[[Service, Request], Awaitable[Response]]

Routes = Sequence[tuple[str, str, Action]]

ROUTES: Routes = (
    ("POST", "/proofs", issuing.issue),
    ("POST", "/proofs/{proof_id}/complete", controls.complete),
    ("DELETE", "/proofs/{proof_id}", controls.erase),
    ("POST", "/tenants", controls.add_tenant),
    ("POST", "/tenants/{tenant}/keys", controls.add_key),
    ("PUT", "/lane", controls.set_lane),
    ("PUT", "/quota", controls.set_quota),
    ("PUT", "/latency", controls.set_latency),
    ("POST", "/faults", controls.add_fault),
    ("DELETE", "/faults", controls.clear_faults),
    ("GET", "/faults", records.faults),
    ("POST", "/clock", controls.move_clock),
    ("GET", "/rotations", records.rotations),
    ("GET", "/usage", records.usage),
    ("GET", "/exchanges", records.exchanges),
    ("GET", "/secrets", records.secrets),
    ("GET", "/silences", records.unspecified),
    ("PUT", "/silences", controls.set_unspecified),
)


def operator_app(service: Service, more: Routes = ()) -> Starlette:
    """Return the application of the operator port, with `more` routes than its own."""
    routes = (*ROUTES, *more)
    return Starlette(routes=[Route(path, _bound(service, action), methods=[method]) for method, path, action in routes])


def _bound(service: Service, action: Action) -> Callable[[Request], Awaitable[Response]]:
    """Bind an action to the service, and answer its refusals."""

    async def answer(request: Request) -> Response:
        try:
            return await action(service, request)
        except Refusal as refused:
            return JSONResponse({"error": refused.error, "code": refused.code}, refused.status)
        except ValidationError as error:
            return JSONResponse({"error": str(error), "code": "invalid_request"}, 400)

    return answer
