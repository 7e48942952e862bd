"""moto, as a program: an S3 in memory with conditional writes and storage classes.

It prints its URL as one line, and serves until its standard input ends.
"""

import logging
import re
import sys
import threading
from collections.abc import Callable, Iterable
from typing import Any

from moto.moto_server import threaded_moto_server
from moto.moto_server.werkzeug_app import DomainDispatcherApplication

_creating = threading.Lock()


class _LikeS3(DomainDispatcherApplication):
    """Knows its region; lets one conditional write go at a time: moto looks for the object, and creates it later."""

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        if re.search(r"/(?!us-east-1)[a-z0-9-]+/s3/aws4_request", environ.get("HTTP_AUTHORIZATION", "")):
            # as S3 does; moto takes any region
            start_response("400 Bad Request", [("Content-Type", "application/xml")])
            return [b"<Error><Code>AuthorizationHeaderMalformed</Code></Error>"]
        if "HTTP_IF_NONE_MATCH" not in environ:
            return super().__call__(environ, start_response)
        with _creating:
            return super().__call__(environ, start_response)


if __name__ == "__main__":
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    threaded_moto_server.DomainDispatcherApplication = _LikeS3
    server = threaded_moto_server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    print(f"http://127.0.0.1:{server.get_host_and_port()[1]}", flush=True)  # noqa: T201
    sys.stdin.read()
    server.stop()
