"""`python -m benchmarks.slow_link_sandbox`: a sandbox whose storage may have a slow link.

On any of its ports, `PUT /link` sets it: bytes per second, or null for no limit.
"""

import asyncio
import json
import math
import sys
import time
from functools import partial

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from proofsweep_sandbox.__main__ import main
from proofsweep_sandbox.server import serve


class SlowLink:
    """A sandbox behind the link: bytes to the storage wait for it."""

    def __init__(self, usual: ASGIApp) -> None:
        self._usual = usual
        self._bytes_per_second: float | None = None
        self._free_at = -math.inf

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] == "/link":
            self._bytes_per_second = json.loads(await Request(scope, receive).body())
            await Response(status_code=204)(scope, receive, send)
        elif scope["path"].startswith("/slots/"):
            await self._usual(scope, partial(self._receive_slowly, receive), send)
        else:
            await self._usual(scope, receive, send)

    async def _receive_slowly(self, receive: Receive) -> Message:
        message = await receive()
        if self._bytes_per_second is not None:
            now = time.monotonic()
            self._free_at = max(now, self._free_at) + len(message.get("body", b"")) / self._bytes_per_second
            await asyncio.sleep(self._free_at - now)
        return message


if __name__ == "__main__":
    main(sys.argv[1:], partial(serve, wrapper=SlowLink))
