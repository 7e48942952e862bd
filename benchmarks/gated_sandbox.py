"""`python -m benchmarks.gated_sandbox`: a sandbox that lets few calls in at once, or whose storage has a slow link.

The operator's `PUT /gate` sets both, from the next call on: `{"at_once": 8, "bytes_per_second": 4e6}`; null for none.
"""

import asyncio
import math
import sys
import time
from collections.abc import Callable
from functools import partial

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Message, Receive, Scope, Send

from proofsweep_sandbox.__main__ import main
from proofsweep_sandbox.answers import Answer
from proofsweep_sandbox.api.gateway import ApiGateway
from proofsweep_sandbox.pipeline import Origin
from proofsweep_sandbox.server import Application, pipeline, serve
from proofsweep_sandbox.service import Service

# The calls that count; the others are few.
_COUNTED = ("/v1/uploads", "/v1/verify")


class Gate(BaseModel):
    """What the gate lets through; None for anything."""

    at_once: int | None = None
    bytes_per_second: float | None = None


class GatedOrigin:
    """An origin behind the gate: calls of the API are counted, and bytes to the storage wait for the link."""

    gate = Gate()

    def __init__(self, service: Service, make_origin: Callable[[Service], Origin]) -> None:
        self._usual: Application = pipeline(service, make_origin)
        self._is_api = make_origin is ApiGateway
        self._in_flight = 0
        self._link_free_at = -math.inf

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or refuse it."""
        if not self._is_api:
            await self._usual(scope, partial(self._receive_slowly, receive), send)
        elif scope["path"] not in _COUNTED:
            await self._usual(scope, receive, send)
        elif self.gate.at_once is not None and self._in_flight >= self.gate.at_once:
            refusal = {"error": "too many calls at once", "code": "rate_limited"}
            await JSONResponse(refusal, 429, {"Retry-After": "1", "X-Request-Id": "gate"})(scope, receive, send)
        else:
            self._in_flight += 1
            try:
                await self._usual(scope, receive, send)
            finally:
                self._in_flight -= 1

    def framing_answer(self) -> Answer:
        """Return the origin's own answer."""
        return self._usual.framing_answer()

    async def _receive_slowly(self, receive: Receive) -> Message:
        message = await receive()
        if self.gate.bytes_per_second is not None:
            now = time.monotonic()
            sent_seconds = len(message.get("body", b"")) / self.gate.bytes_per_second
            self._link_free_at = max(now, self._link_free_at) + sent_seconds
            await asyncio.sleep(self._link_free_at - now)
        return message


async def _set(_service: Service, request: Request) -> Response:
    """Set the gate."""
    GatedOrigin.gate = Gate.model_validate_json(await request.body())
    return Response(status_code=204)


if __name__ == "__main__":
    main(sys.argv[1:], partial(serve, application=GatedOrigin, more_routes=[("PUT", "/gate", _set)]))
