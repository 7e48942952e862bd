"""`python -m benchmarks.gated_sandbox`: a sandbox that lets few calls in at once, or whose storage has a slow link.

On any of its ports, `PUT /gate` sets both: `{"at_once": 8, "bytes_per_second": 4e6}`; null for none.
"""

import asyncio
import math
import sys
import time
from functools import partial

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from proofsweep_sandbox.__main__ import main
from proofsweep_sandbox.server import serve

# The calls that count; the others are few.
_COUNTED = ("/v1/uploads", "/v1/verify")


class Gate(BaseModel):
    """What the gate lets through; None for anything."""

    at_once: int | None = None
    bytes_per_second: float | None = None


class GatedSandbox:
    """A sandbox behind the gate: calls of the API are counted, and bytes to the storage wait for the link."""

    def __init__(self, usual: ASGIApp) -> None:
        self._usual = usual
        self._gate = Gate()
        self._in_flight = 0
        self._link_free_at = -math.inf

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or refuse it."""
        if scope["path"] == "/gate":
            self._gate = Gate.model_validate_json(await Request(scope, receive).body())
            await Response(status_code=204)(scope, receive, send)
        elif scope["path"].startswith("/slots/"):
            await self._usual(scope, partial(self._receive_slowly, receive), send)
        elif scope["path"] not in _COUNTED:
            await self._usual(scope, receive, send)
        elif self._gate.at_once is not None and self._in_flight >= self._gate.at_once:
            refusal = {"error": "too many calls at once", "code": "rate_limited"}
            await JSONResponse(refusal, 429, {"Retry-After": "1", "X-Request-Id": "gate"})(scope, receive, send)
        else:
            self._in_flight += 1
            try:
                await self._usual(scope, receive, send)
            finally:
                self._in_flight -= 1

    async def _receive_slowly(self, receive: Receive) -> Message:
        message = await receive()
        if self._gate.bytes_per_second is not None:
            now = time.monotonic()
            sent_seconds = len(message.get("body", b"")) / self._gate.bytes_per_second
            self._link_free_at = max(now, self._link_free_at) + sent_seconds
            await asyncio.sleep(self._link_free_at - now)
        return message


if __name__ == "__main__":
    main(sys.argv[1:], partial(serve, wrapper=GatedSandbox))
