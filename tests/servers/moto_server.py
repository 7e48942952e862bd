"""moto, as a program: an S3 in memory with conditional writes and storage classes; it does not check signatures.

It prints its URL as one line, and serves until its standard input ends.
"""

import logging
import sys
import threading
from collections.abc import Callable, Iterable
from typing import Any

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
from werkzeug.serving import make_server

_creating = threading.Lock()
_moto = DomainDispatcherApplication(create_backend_app)


def _answer(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """Let one conditional write go at a time: moto looks for the object, and creates it later."""
    if "HTTP_IF_NONE_MATCH" not in environ:
        return _moto(environ, start_response)
    with _creating:
        return _moto(environ, start_response)


if __name__ == "__main__":
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = make_server("127.0.0.1", 0, _answer, threaded=True, request_handler=MotoRequestHandler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(f"http://127.0.0.1:{server.port}", flush=True)  # noqa: T201
    sys.stdin.read()
    server.shutdown()
