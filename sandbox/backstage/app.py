"""The operator's side as an application."""

from collections.abc import Awaitable, Callable

from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from sandbox.answers import Refused
from sandbox.backstage import controls, issuing, records
from sandbox.service import Service

Act = Callable[[Service, Request], Awaitable[Response]]

ACTS: tuple[tuple[str, str, Act], ...] = (
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
    ("GET", "/silences", records.silences),
    ("PUT", "/silences", controls.set_silences),
    ("GET", "/mutants", records.mutants),
    ("PUT", "/mutant", controls.set_mutant),
)


def operator_app(service: Service) -> Starlette:
    """Return the application of the operator's port."""
    return Starlette(routes=[Route(path, _bound(service, act), methods=[method]) for method, path, act in ACTS])


def _bound(service: Service, act: Act) -> Callable[[Request], Awaitable[Response]]:
    """Give an act its service, and turn its refusals into answers."""

    async def answer(request: Request) -> Response:
        try:
            return await act(service, request)
        except Refused as refused:
            return JSONResponse({"error": refused.error, "code": refused.code}, refused.status)
        except ValidationError as error:
            return JSONResponse({"error": str(error), "code": "invalid_request"}, 400)

    return answer
