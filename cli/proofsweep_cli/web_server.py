"""The web server of one command: quiet, and gone at once when it is told to end, also with open streams."""

import socket

import uvicorn

from proofsweep.answers.serve.app import SiteApp

# How long a page that is being sent may go on after Ctrl-C. Chosen: a person waits so long.
_GRACE_SECONDS = 1

# Requests and streams at once; each further one is told to come back. Chosen: each stream is a browser that looks.
_MOST_AT_ONCE = 512


class WebServer(uvicorn.Server):
    """Serves a site."""

    def __init__(self, app: SiteApp) -> None:
        super().__init__(
            uvicorn.Config(
                app.asgi,
                ws="none",
                lifespan="off",
                access_log=False,
                log_level="critical",
                server_header=False,
                limit_concurrency=_MOST_AT_ONCE,
                timeout_graceful_shutdown=_GRACE_SECONDS,
            )
        )
        self._app = app

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the streams of all browsers first: they would not end by themselves."""
        self._app.shared_look.end()
        await super().shutdown(sockets)
