"""The connection itself: cut an answer short. ASGI cannot express this."""

import asyncio
import socket

from starlette.requests import Request
from starlette.types import Receive, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from proofsweep_sandbox.answers import Answer


class WireProtocol(H11Protocol):
    """uvicorn's HTTP/1.1 protocol, which also gives the application its connection."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as its base does
        """Store this connection's transport in the state of its requests."""
        # Headers and body are two writes. Without this, the second waits for the acknowledgement of the first.
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        super().connection_made(transport)
        self.app_state = {**self.app_state, "transport": transport}


async def send_half(request: Request, answer: Answer, send: Send) -> None:
    """Announce the full length of an answer, send half of it and close."""
    length = len(answer.body)
    announced = {**answer.headers, "content-length": str(length)}
    headers = [(name.encode(), value.encode()) for name, value in announced.items()]
    half = answer.body[: length // 2]
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": half, "more_body": True})
    request.state.transport.close()
    await closed(request.receive)


async def closed(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
