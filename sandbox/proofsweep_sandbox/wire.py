"""The connection itself: reset it, cut an answer short. ASGI cannot express this."""

import asyncio
import socket
import struct
from collections.abc import Callable

from starlette.requests import Request
from starlette.types import Receive, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from proofsweep_sandbox.answers import Answer

# Chosen: far longer than a client takes to send the headers of one request.
_HEADER_SECONDS = 20.0
_CLOSE_WITH_RESET = struct.pack("ii", 1, 0)  # SO_LINGER with 0 seconds: closing sends RST


# h11's name of the state in which the next request begins.
_WAITS_FOR_A_REQUEST = "IDLE"


class WireProtocol(H11Protocol):
    """uvicorn's HTTP/1.1 protocol, which also gives the application its connection.

    It closes a connection on which the headers of a request do not arrive in time.
    """

    _header_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as its base does
        """Store this connection's transport in the state of its requests."""
        # Headers and body are two writes. Without this, the second waits for the acknowledgement of the first.
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        super().connection_made(transport)
        self.app_state = {**self.app_state, "transport": transport}
        self._await_headers()

    def data_received(self, data: bytes) -> None:
        """Read more of a request; its headers must be complete in time."""
        super().data_received(data)
        if self.conn.their_state.__name__ != _WAITS_FOR_A_REQUEST:
            self._stop_waiting()
        elif self._header_timer is None:
            self._await_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._stop_waiting()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """Answer bytes that are no HTTP/1.1, and close; an answer that has begun cannot be replaced."""
        del msg
        if getattr(self.cycle, "response_complete", True):  # there is no cycle before the first request
            answer = self.framing_answer(self.server[1] if self.server and self.server[1] else 0)
            headers = {**answer.headers, "content-length": str(len(answer.body)), "connection": "close"}
            lines = [f"HTTP/1.1 {answer.status} Bad Request", *(f"{name}: {value}" for name, value in headers.items())]
            self.transport.write("\r\n".join([*lines, "", ""]).encode() + answer.body)
        self.transport.close()

    def framing_answer(self, port: int) -> Answer:
        """Return the answer to bytes that are no HTTP/1.1; `protocol_for` knows it."""
        raise NotImplementedError

    def _await_headers(self) -> None:
        self._header_timer = self.loop.call_later(_HEADER_SECONDS, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._header_timer is not None:
            self._header_timer.cancel()
            self._header_timer = None


def protocol_for(framing_answer: Callable[[int], Answer]) -> type[WireProtocol]:
    """Return the protocol with the answer to bytes that are no HTTP/1.1; it gets the port."""

    class BoundProtocol(WireProtocol):
        def framing_answer(self, port: int) -> Answer:
            return framing_answer(port)

    return BoundProtocol


async def reset(request: Request) -> None:
    """Reset the connection of a request, and return when it is closed."""
    transport = request.state.transport
    transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _CLOSE_WITH_RESET)
    transport.abort()
    await closed(request.receive)


async def send_half(request: Request, answer: Answer, send: Send) -> None:
    """Announce the full length of an answer, send half of it and close."""
    length = {"content-length": str(len(answer.body))}
    headers = [(name.encode(), value.encode()) for name, value in {**answer.headers, **length}.items()]
    half = answer.body[: len(answer.body) // 2]
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": half, "more_body": True})
    request.state.transport.close()
    await closed(request.receive)


async def closed(receive: Receive) -> None:
    """Wait until the connection is closed."""
    while (await receive())["type"] != "http.disconnect":
        pass
