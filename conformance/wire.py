"""The wire: one client with nothing in it but what the contract asks for, and no memory of the key anywhere else."""

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

_TIMEOUTS = httpx.Timeout(60.0, connect=10.0)
_TRIES = 3
_PAUSE_SECONDS = 0.5
_THROTTLED = 429
_FAILED = 500

# It writes URLs, and those of proofs and slots are nobody's business.
for name in ("httpx", "httpcore"):
    logging.getLogger(name).setLevel(logging.WARNING)


class Wire:
    """Asks the service, and keeps every reply of the API in the order in which they came.

    The key goes into single requests to the API and never into a client, so that no slot, link or redirect sees it.
    A 429 is waited out as long as the service asks, but for no more than `patience_seconds` in all.
    """

    def __init__(
        self,
        base_url: str,
        key: str,
        *,
        patience_seconds: float = 120.0,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.key = key
        self.replies: list[Reply] = []
        self.keyed_calls = 0
        self._base_url = base_url.rstrip("/")
        self._patience_seconds = patience_seconds
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
        """Ask once, and again where the service fails or throttles: everything that is asked here is safe to repeat.

        `key` is the service's own by default, and None for no key at all. `body` is sent as JSON, bytes as they are.

        Raises:
            NoAnswer: there is none to be had.
        """
        secret = self.key if key == "" else key
        sent = dict(headers or {}) | ({} if secret is None or operation.is_public else {"x-api-key": secret})
        content = {"content": body} if isinstance(body, bytes) else {} if body is None else {"json": body}
        url = f"{self._base_url}{operation.path.replace('{proofId}', quote(proof_id, safe=''))}"
        request = self._api.build_request(operation.method, url, params=query, headers=sent, **content)
        for tries in range(1, _TRIES + 1):
            self.keyed_calls += "x-api-key" in sent
            reply = self._reply(operation, request, is_last=tries == _TRIES)
            if reply is None or (reply.status >= _FAILED and tries < _TRIES):
                self._sleep(_PAUSE_SECONDS)
            elif reply.status == _THROTTLED and waits:
                self._wait_out(reply, tries)
            else:
                return reply
        raise NoAnswer(f"{operation} is throttled again and again", self.replies[-1:])

    def post_form(self, url: str, form: list[tuple[str, bytes | str]], content_type: str = "audio/wav") -> int:
        """Post a form to a slot, field by field in the order given; `bytes` are the file. Give the status.

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
            raise NoAnswer(f"the slot is not to be reached ({type(error).__name__})") from None

    def download(self, url: str) -> tuple[int, bytes]:
        """Get a link without any key; give the status and the first bytes.

        Raises:
            NoAnswer: it cannot be reached.
        """
        try:
            with self._elsewhere.stream("GET", url) as response:
                return response.status_code, next(response.iter_bytes(64), b"")
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise NoAnswer(f"the link is not to be reached ({type(error).__name__})") from None

    def wait(self, seconds: float) -> None:
        """Let time pass."""
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
                raise NoAnswer(f"{operation} is not answered ({type(error).__name__})") from None
            return None
        self._api.cookies.clear()  # what a gateway sets is not to be sent back
        reply = Reply(
            operation=operation,
            status=response.status_code,
            headers=Headers(response.headers.multi_items()),
            body=response.content,
        )
        self.replies.append(reply)
        return reply

    def _wait_out(self, reply: Reply, tries: int) -> None:
        asked = reply.headers.get("Retry-After") or ""
        seconds = float(asked) if asked.isascii() and asked.isdigit() else float(2**tries)
        if seconds > self._patience_seconds:
            raise NoAnswer(f"{reply.operation} is throttled, and to be asked again in {seconds:.0f} s", (reply,))
        self._patience_seconds -= seconds
        self._sleep(seconds)


@cache
def _certificates() -> ssl.SSLContext:
    """Read the system's certificates once: it takes longer than many a call."""
    return ssl.create_default_context()
