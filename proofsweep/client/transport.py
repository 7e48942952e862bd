"""One request, one answer, one exchange record: the only place that touches sockets."""

import hashlib
import json
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

import httpx
from pydantic import SecretStr

from proofsweep.batch.exchanges import Call, Exchange, Failure
from proofsweep.contract.headers import AnswerHeaders
from proofsweep.contract.lenient import object_of, text_of

_MOST_BODY_BYTES = 2 * 1024 * 1024
_NEVER_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.UnsupportedProtocol, httpx.InvalidURL)
_STORAGE_ID_HEADERS = ("x-amz-request-id", "x-ms-request-id", "x-guploader-uploadid", "x-request-id")


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """Seconds for each part of a call, and `total_seconds` for reading an answer that trickles."""

    connect_seconds: float = 10.0
    read_seconds: float = 60.0
    write_seconds: float = 60.0
    total_seconds: float = 120.0

    def for_httpx(self) -> httpx.Timeout:
        """Set each of httpx's four on purpose."""
        return httpx.Timeout(
            connect=self.connect_seconds, read=self.read_seconds, write=self.write_seconds, pool=self.connect_seconds
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What to send. The URL and the content may hold secrets and are never printed."""

    call: Call
    method: str
    url: str = field(repr=False)
    params: Mapping[str, str | int] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    content: bytes | Iterable[bytes] = field(default=b"", repr=False)
    content_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back. The body is never printed."""

    exchange: Exchange
    body: bytes = field(default=b"", repr=False)
    document: object = field(default=None, repr=False)

    @property
    def body_sha256(self) -> str:
        """Give the hex digest of the exact body."""
        return hashlib.sha256(self.body).hexdigest()


class Transport:
    """Sends requests from worker threads, each with one keyed and one keyless connection of its own.

    The keyless client has never seen the key: slot and asset URLs lead elsewhere. Redirects are not followed, since
    the key would travel with them.
    """

    def __init__(self, *, user_agent: str, timeouts: Timeouts, tls: ssl.SSLContext | None = None) -> None:
        self._user_agent = user_agent
        self._timeouts = timeouts
        self._tls = tls or httpx.create_ssl_context()
        self._own = threading.local()

    def send(self, request: Request, *, attempt: int, key: SecretStr | None) -> Reply:
        """Make one exchange; whatever goes wrong on the wire is in the reply, not raised.

        Errors of the request's own content (a source that changed) are raised.
        """
        client = self._client("keyless" if key is None else "keyed")
        clock = _Stopwatch()
        answer: httpx.Response | None = None
        try:
            answer = client.send(self._built(client, request, key), stream=True)
            body = self._read(answer, clock)
        except (httpx.TransportError, httpx.InvalidURL) as error:
            return _broken_reply(request, attempt, clock, answer, error)
        finally:
            if answer is not None:
                answer.close()
        return _whole_reply(request, attempt, clock, answer, body)

    def _client(self, kind: str) -> httpx.Client:
        client: httpx.Client | None = getattr(self._own, kind, None)
        if client is None:
            client = httpx.Client(
                verify=self._tls,
                timeout=self._timeouts.for_httpx(),
                limits=httpx.Limits(max_connections=1),
                follow_redirects=False,
                headers={"User-Agent": self._user_agent, "Accept": "application/json", "Accept-Encoding": "identity"},
            )
            setattr(self._own, kind, client)
        return client

    def _built(self, client: httpx.Client, request: Request, key: SecretStr | None) -> httpx.Request:
        headers = dict(request.headers)
        if key is not None:
            headers["x-api-key"] = key.get_secret_value()
        if request.content_bytes or request.method == "POST":
            headers["Content-Length"] = str(request.content_bytes)
        return client.build_request(
            request.method, request.url, params=request.params or None, headers=headers, content=request.content
        )

    def _read(self, answer: httpx.Response, clock: "_Stopwatch") -> bytes:
        """Read a body as it is on the wire, bounded in bytes and in time."""
        if answer.headers.get("content-encoding", "identity").strip().lower() not in {"", "identity"}:
            raise httpx.RemoteProtocolError("the answer is encoded, though identity was asked for")
        body = bytearray()
        for piece in answer.iter_raw():
            body += piece
            if len(body) > _MOST_BODY_BYTES:
                raise httpx.RemoteProtocolError("the answer is larger than any of the contract's")
            if clock.elapsed_ms() > self._timeouts.total_seconds * 1000:
                raise httpx.ReadTimeout("the answer took too long")
        return bytes(body)


class _Stopwatch:
    """When an exchange began, and how long it has taken."""

    def __init__(self) -> None:
        self.started_at = datetime.now(UTC)
        self._began = time.perf_counter()

    def elapsed_ms(self) -> float:
        return (time.perf_counter() - self._began) * 1000


def _whole_reply(request: Request, attempt: int, clock: _Stopwatch, answer: httpx.Response, body: bytes) -> Reply:
    expects_json = request.call.is_keyed or request.call is Call.HEALTH
    document = _json_of(body) if expects_json else None
    unreadable = expects_json and answer.is_success and document is None
    exchange = _exchange(
        request,
        attempt,
        clock,
        answer,
        failure=Failure.BAD_ANSWER if unreadable else None,
        error_code=None if answer.is_success else text_of(object_of(document).get("code")),
    )
    return Reply(exchange, body, document)


def _broken_reply(
    request: Request, attempt: int, clock: _Stopwatch, answer: httpx.Response | None, error: Exception
) -> Reply:
    failure = Failure.CONNECTION if answer is None else Failure.BAD_ANSWER
    if isinstance(error, httpx.TimeoutException):
        failure = Failure.TIMEOUT
    was_sent = not isinstance(error, _NEVER_SENT)
    return Reply(_exchange(request, attempt, clock, answer, failure=failure, was_sent=was_sent))


def _exchange(
    request: Request,
    attempt: int,
    clock: _Stopwatch,
    answer: httpx.Response | None,
    *,
    failure: Failure | None = None,
    error_code: str | None = None,
    was_sent: bool = True,
) -> Exchange:
    received = answer.headers if answer is not None else httpx.Headers()
    headers = AnswerHeaders.read(received, now=clock.started_at)
    is_storage = request.call in {Call.SLOT, Call.DOWNLOAD}
    return Exchange(
        call=request.call,
        attempt=attempt,
        started_at=clock.started_at,
        elapsed_ms=clock.elapsed_ms(),
        headers=headers,
        status=answer.status_code if answer is not None else None,
        error_code=error_code,
        failure=failure,
        request_id=headers.request_id,
        storage_id=_first(received, _STORAGE_ID_HEADERS) if is_storage else None,
        bytes_sent=request.content_bytes if was_sent else None,
    )


def _first(headers: httpx.Headers, names: Iterable[str]) -> str | None:
    return next((headers[name][:200] for name in names if headers.get(name)), None)


def _json_of(body: bytes) -> object:
    """Parse JSON as the standard has it; None for whatever is not (NaN, too deep, too large a number, no UTF-8)."""
    try:
        return json.loads(body, parse_constant=_refuse, parse_float=_finite)
    except (ValueError, RecursionError):
        return None


def _refuse(word: str) -> Callable[[], None]:
    raise ValueError(f"{word} is no JSON")


def _finite(text: str) -> float:
    number = float(text)
    if number in {float("inf"), float("-inf")}:
        raise ValueError("a number beyond all bounds")
    return number
