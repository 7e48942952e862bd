"""What stands before every page: the server's own names, the token if reading needs it, and the browser's rules."""

from http import HTTPStatus

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from proofsweep.answers.report.templates import script_digest
from proofsweep.answers.serve.access import SESSION, Access
from proofsweep.answers.serve.pages import token_page

_RULES = {
    # Only our own two scripts run, and they speak with this server alone.
    "Content-Security-Policy": f"default-src 'none'; script-src 'sha256-{script_digest()}' 'self'; "
    "style-src 'unsafe-inline'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    # With `no-referrer`, browsers would send the origin of a form as null.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}

_OPEN = {"/token", "/favicon.ico"}
"""What needs no token: where it is entered."""


class Guard:
    """Passes on what a browser may ask this server."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""

        async def send_with_rules(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_RULES)
            await send(message)

        await (self._refusal(scope) or self._app)(scope, receive, send_with_rules)

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        if not self._access.is_own_host(headers.get("host", "")):
            return PlainTextResponse(
                "This server is not known by this name. Set serve.url to the address by which it is reached.\n",
                HTTPStatus.MISDIRECTED_REQUEST,
            )
        session = Request(scope).cookies.get(SESSION, "")
        if scope["path"] in _OPEN or self._access.may_read(headers, session):
            return None
        is_page = "text/html" in headers.get("accept", "")
        page = token_page(scope["path"] if is_page else "/")
        return HTMLResponse(page, HTTPStatus.UNAUTHORIZED, headers={"WWW-Authenticate": "Bearer"})
