"""The server: API, storage and operator API on three ports, in one process."""

import json
import os
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from proofsweep_sandbox.api.gateway import ApiGateway
from proofsweep_sandbox.operator_api import operator_app
from proofsweep_sandbox.options import Options
from proofsweep_sandbox.pipeline import RequestPipeline
from proofsweep_sandbox.service import Service
from proofsweep_sandbox.storage import StorageTarget
from proofsweep_sandbox.wire import WireProtocol

_GRACE_SECONDS = 3
_KEEP_ALIVE_SECONDS = 60
_BACKLOG_CONNECTIONS = 2048


def serve(
    options: Options, *, ends_with_stdin: bool = False, wrapper: Callable[[ASGIApp], ASGIApp] = lambda app: app
) -> None:
    """Run a sandbox until SIGINT or SIGTERM, or with `ends_with_stdin` until standard input ends.

    Once the ports are open, print one line of JSON with the addresses. A benchmark puts its `wrapper` around the whole
    application. Raises OSError if a port is taken or the home cannot be written.
    """
    sockets: list[socket.socket] = []
    ports: list[int] = []
    # Bound before anything is written: port 0 becomes a real one here, and a port that is taken leaves no home behind.
    for port in options.ports:
        address = (options.host, port)
        listener = socket.create_server(address, backlog=_BACKLOG_CONNECTIONS)
        sockets.append(listener)
        ports.append(listener.getsockname()[1])
    api, storage, operator = ports
    service = Service(options, (api, storage, operator))
    # One application behind all three ports: the port tells which of them is asked.
    origins: dict[int, ASGIApp] = {operator: operator_app(service)}
    origins[api] = RequestPipeline(service, ApiGateway(service))
    origins[storage] = RequestPipeline(service, StorageTarget())

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        _, port = scope["server"]
        await origins[port](scope, receive, send)

    server = uvicorn.Server(_config(wrapper(application)))
    if ends_with_stdin:
        threading.Thread(target=_stop_after_stdin, args=(server,), daemon=True).start()
    # A client cannot connect to the address that stands for all of this machine's.
    host = "127.0.0.1" if options.host == "0.0.0.0" else options.host  # noqa: S104 - compared, not bound
    addresses = {"base_url": f"http://{host}:{api}/v1"}
    addresses["operator_url"] = f"http://{host}:{operator}"
    addresses["key_file"] = str(options.key_file.absolute())
    print(json.dumps(addresses), flush=True)  # noqa: T201 - the launching process reads it
    with suppress(KeyboardInterrupt):  # a person ends it with Ctrl-C
        server.run(sockets)


def _config(app: ASGIApp) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=WireProtocol,
        ws="none",
        lifespan="off",
        access_log=False,  # request lines hold proof ids and signed links
        log_level="critical",
        server_header=False,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=_GRACE_SECONDS,
    )


def _stop_after_stdin(server: uvicorn.Server) -> None:
    # When standard input ends, the launching process has ended, and nobody else would stop this one.
    while os.read(sys.stdin.fileno(), 4096):
        pass
    server.should_exit = True
