"""The HTTP client of the suite: it sends only what the contract defines, and keeps the key away from other hosts."""

import logging
import ssl
import time
from collections.abc import Callable, Mapping
from functools import cache
from types import TracebackType
from typing import Self
from urllib.parse import quote

import httpx

from conformance.operations import Operation
from conformance.replies import Headers, NoAnswer, Reply

# Chosen, in seconds: far above any normal answer, so that only a hung service is a missing answer.
_TIMEOUTS = httpx.Timeout(60.0, connect=10.0)
# Chosen: tries of one call. With one, a single failure hides a check's result; more only wait longer.
_TRIES = 3
# Chosen: between two tries.
_PAUSE_SECONDS = 0.5
# HTTP: failures of the service begin here.
_FIRST_FAILURE_STATUS = 500

# At lower levels these write URLs; URLs contain proof ids and slots, which are confidential.
for name in ("httpx", "httpcore"):
    logging.getLogger(name).setLevel(logging.WARNING)


class Wire:
    """Calls the service, and keeps all replies of the API in order.

    The key is in single requests to the API and never in a client: no slot, link or redirect gets it. After a 429 the
    wire waits as long as the service says, in all for at most `max_wait_seconds`.
    """

    def __init__(
        self,
        base_url: str,
        key: str,
        *,
        max_wait_seconds: float = 120.0,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.key = key
        self.replies: list[Reply] = []
        self.keyed_calls = 0
        self._base_url = base_url.rstrip("/")
        self._max_wait_seconds = max_wait_seconds
        self._sleep = sleep
        self._api, self._elsewhere = (
            httpx.Client(timeout=_TIMEOUTS, verify=_certificates(), follow_redirects=False, trust_env=False)
            for _ in range(2)
        )

    def ask(
        self,
        operation: Operation,
        *,
        key: str | None = "",
        proof_id: str = "",
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        body: object = None,
        waits: bool = True,
    ) -> Reply:
        """Make one call, and repeat it if the service fails or throttles: every call of the suite is safe to repeat.

        `key` is the wire's key by default, and None for no key. `body` is sent as JSON, or as it is if it is bytes.

        Raises:
            NoAnswer: all tries failed.
        """
        secret = self.key if key == "" else key
        sent = dict(headers or {}) | ({} if secret is None or operation.is_public else {"x-api-key": secret})
        content = {"content": body} if isinstance(body, bytes) else {} if body is None else {"json": body}
        url = f"{self._base_url}{operation.path.replace('{proofId}', quote(proof_id, safe=''))}"
        request = self._api.build_request(operation.method, url, params=query, headers=sent, **content)
        for tries in range(1, _TRIES + 1):
            self.keyed_calls += "x-api-key" in sent
            reply = self._reply(operation, request, is_last=tries == _TRIES)
            if reply is None or (reply.status >= _FIRST_FAILURE_STATUS and tries < _TRIES):
                self._sleep(_PAUSE_SECONDS)
            elif reply.is_throttled and waits:
                self._wait_after(reply, tries)
            else:
                return reply
        raise NoAnswer(f"{operation} is throttled repeatedly", self.replies[-1:])

    def post_form(self, url: str, form: list[tuple[str, bytes | str]], content_type: str = "audio/wav") -> int:
        """Post a form to a slot, with the fields in this order; `bytes` are the file. Return the status.

        Raises:
            NoAnswer: the storage cannot be reached.
        """
        parts = [
            (name, ("audio", part, content_type)) if isinstance(part, bytes) else (name, (None, part.encode()))
            for name, part in form
        ]
        try:
            return self._elsewhere.post(url, files=parts).status_code
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise NoAnswer(f"the slot cannot be reached ({type(error).__name__})") from None

    def download(self, url: str) -> tuple[int, bytes]:
        """Get a link without a key; return the status and the first bytes.

        Raises:
            NoAnswer: the link cannot be reached.
        """
        try:
            with self._elsewhere.stream("GET", url) as response:
                return response.status_code, next(response.iter_bytes(64), b"")
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise NoAnswer(f"the link cannot be reached ({type(error).__name__})") from None

    def wait(self, seconds: float) -> None:
        """Wait."""
        self._sleep(seconds)

    def close(self) -> None:
        """Close the connections."""
        self._api.close()
        self._elsewhere.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _reply(self, operation: Operation, request: httpx.Request, *, is_last: bool) -> Reply | None:
        try:
            response = self._api.send(request)
        except httpx.HTTPError as error:
            if is_last:
                raise NoAnswer(f"{operation} has no answer ({type(error).__name__})") from None
            return None
        self._api.cookies.clear()  # a gateway's cookies are not sent back
        reply = Reply(
            operation=operation,
            status=response.status_code,
            headers=Headers(response.headers.multi_items()),
            body=response.content,
        )
        self.replies.append(reply)
        return reply

    def _wait_after(self, reply: Reply, tries: int) -> None:
        header = reply.headers.get("Retry-After") or ""
        seconds = float(header) if header.isascii() and header.isdigit() else float(2**tries)
        if seconds > self._max_wait_seconds:
            raise NoAnswer(f"{reply.operation} is throttled; the service says to wait {seconds:.0f} s", (reply,))
        self._max_wait_seconds -= seconds
        self._sleep(seconds)


@cache
def _certificates() -> ssl.SSLContext:
    """Read the system's certificates once, because this is slow."""
    return ssl.create_default_context()
