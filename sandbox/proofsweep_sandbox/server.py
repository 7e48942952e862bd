"""The server: API, storage and operator API on three ports, in one process."""

import json
import os
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from proofsweep_sandbox.answers import Answer, json_answer
from proofsweep_sandbox.api.gateway import ApiGateway
from proofsweep_sandbox.operator_api.app import Routes, operator_app
from proofsweep_sandbox.options import Options
from proofsweep_sandbox.pipeline import Origin, RequestPipeline
from proofsweep_sandbox.service import Service, open_service
from proofsweep_sandbox.storage.target import StorageTarget
from proofsweep_sandbox.wire import WireProtocol, protocol_for

# Chosen: how long open calls may go on after the stop; a hung one ends then. `launch` waits longer than this.
_GRACE_SECONDS = 3
# Chosen: an idle connection stays open longer than a client pauses between two calls.
_KEEP_ALIVE_SECONDS = 60
# Chosen: connections that may wait to be accepted; a burst of new connections beyond it is refused.
_BACKLOG_CONNECTIONS = 2048


class Application(Protocol):
    """The ASGI application of one origin."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""

    def framing_answer(self) -> Answer:
        """Return the answer to bytes that are no HTTP/1.1."""


def pipeline(service: Service, make_origin: Callable[[Service], Origin]) -> Application:
    """Return the application of an origin that keeps to the contract."""
    return RequestPipeline(service, make_origin(service))


def serve(
    options: Options,
    *,
    ends_with_stdin: bool = False,
    application: Callable[[Service, Callable[[Service], Origin]], Application] = pipeline,
    more_routes: Routes = (),
) -> None:
    """Run a sandbox until SIGINT or SIGTERM, or with `ends_with_stdin` until standard input ends.

    Once the ports are open, print one line of JSON with the addresses. Tests put another `application` before the
    origins, with `more_routes` for the operator. Raises OSError if a port is taken or the home cannot be written.
    """
    sockets = [_listening(options.host, port) for port in options.ports]
    ports = tuple(listener.getsockname()[1] for listener in sockets)
    service = open_service(options, (ports[0], ports[1], ports[2]))
    router = PortRouter(
        {ports[0]: application(service, ApiGateway), ports[1]: application(service, StorageTarget)},
        operator_app(service, more_routes),
    )
    server = uvicorn.Server(_config(router, protocol_for(router.framing_answer)))
    if ends_with_stdin:
        threading.Thread(target=_stop_after_stdin, args=(server,), daemon=True).start()
    print(json.dumps(_addresses(options, service.ports)), flush=True)  # noqa: T201 - the launching process reads it
    with suppress(KeyboardInterrupt):  # a person ends it with Ctrl-C
        server.run(sockets)


class PortRouter:
    """Passes each request to the application of its port."""

    def __init__(self, origins: dict[int, Application], operator: ASGIApp) -> None:
        self._origins = origins
        self._operator = operator

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        await self._origins.get(scope["server"][1], self._operator)(scope, receive, send)

    def framing_answer(self, port: int) -> Answer:
        """Return the answer to bytes that are no HTTP/1.1."""
        if port not in self._origins:
            return json_answer({"error": "this is not HTTP/1.1", "code": "invalid_request"}, 400)
        return self._origins[port].framing_answer()


def _config(app: ASGIApp, protocol: type[WireProtocol]) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=protocol,
        ws="none",
        lifespan="off",
        access_log=False,  # request lines hold proof ids and signed links
        log_level="critical",
        server_header=False,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=_GRACE_SECONDS,
    )


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family, backlog=_BACKLOG_CONNECTIONS)


def _addresses(options: Options, ports: tuple[int, int, int]) -> dict[str, str]:
    host = "127.0.0.1" if options.host == "0.0.0.0" else options.host  # noqa: S104 - compared, not bound
    host = f"[{host}]" if ":" in host else host
    return {
        "base_url": f"http://{host}:{ports[0]}/v1",
        "operator_url": f"http://{host}:{ports[2]}",
        "key_file": str(options.key_file.absolute()),
    }


def _stop_after_stdin(server: uvicorn.Server) -> None:
    """Stop when standard input is closed: then the launching process has ended."""
    while os.read(sys.stdin.fileno(), 4096):
        pass
    server.should_exit = True
