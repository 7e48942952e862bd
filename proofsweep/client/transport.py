"""One request, one answer, one exchange record: the only place that touches sockets."""

import hashlib
import math
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import lru_cache
from itertools import chain

import httpcore
import httpx
from pydantic import SecretStr
from pydantic.alias_generators import to_camel

from proofsweep.client.connections import (
    BROKEN_EXCHANGE,
    DeadlineBackend,
    DeadlineStream,
    cause_of,
    proxy_for,
    stream_of,
)
from proofsweep.config.sections import TimeoutSettings
from proofsweep.domain import models
from proofsweep.domain.exchanges import Call, Exchange, Failure
from proofsweep.domain.headers import AnswerHeaders
from proofsweep.domain.models import Resource, json_of, list_of_objects, object_of, text_of
from proofsweep.domain.text import printable

TakeBody = Callable[[Iterable[bytes], int | None], None]
"""Takes a body, whose size the answer may have announced; it need not read it to its end, and bounds it itself."""
_MOST_NAMES = 20
_MOST_LETTERS = 60
_MOST_BODY_BYTES = 2 * 1024 * 1024  # the largest body kept in memory
_CONNECT_SECONDS = 10.0
_IDLE_SECONDS = 5.0  # how long an idle connection is kept
_CACHED_ADDRESSES = 256  # addresses that are parsed once
_UNUSABLE_URL = (httpx.InvalidURL, UnicodeError)  # the second one: for impossible host names
_NOT_CONNECTED = (httpcore.ConnectError, httpcore.ConnectTimeout, httpcore.ProxyError, httpcore.UnsupportedProtocol)
_NEVER_SENT = (*_NOT_CONNECTED, *_UNUSABLE_URL)
_SCHEMES = ("http", "https")
_HIGHEST_PORT = 65_535
_SUCCESSES = range(200, 300)
_STORAGE_ID_HEADERS = ("x-amz-request-id", "x-ms-request-id", "x-guploader-uploadid", "x-request-id")


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    call: Call
    method: str
    url: str = field(repr=False)
    params: Mapping[str, str | int] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    content: bytes | Iterable[bytes] = field(default=b"", repr=False)
    content_bytes: int = 0  # the exact length of the content, for Content-Length
    into: TakeBody | None = None  # takes the body of a success; None keeps it in memory
    # says in a clause why the JSON of a success cannot be used, and the call is repeated; None if it can.
    flaw: Callable[[object], str | None] = lambda document: "the answer is no JSON" if document is None else None


@dataclass(frozen=True, slots=True)
class Reply:
    exchange: Exchange
    # the JSON of the body; None where no JSON was expected, or none came.
    document: object = field(default=None, repr=False)
    body_sha256: str = ""  # hex digest of the exact body in memory; empty if it could not be read to its end


def _fields(kind: type[Resource]) -> frozenset[str]:
    return frozenset(map(to_camel, kind.model_fields))


_NAMED: Mapping[Call, Mapping[str, frozenset[str]]] = {
    Call.HEALTH: {"": _fields(models.HealthResponse)},
    Call.KEYS: {"": _fields(models.PartnerKeysResponse), "keys": _fields(models.KeyRecord)},
    Call.ROTATE: {"": _fields(models.RotatedKeyResponse)},
    Call.USAGE: {
        "": _fields(models.PartnerUsageResponse),
        "plan": _fields(models.UsagePlan),
        "days": _fields(models.UsageDay),
    },
    Call.PROOFS: {"": _fields(models.ListProofsResponse), "items": _fields(models.ProofSummary)},
    Call.ERASE: {"": _fields(models.EraseProofResponse)},
    Call.UPLOADS: {"": _fields(models.UploadResponse)},
    Call.VERIFY: {
        "": _fields(models.VerifyResponse),
        "grade": frozenset({"human", "ai", "unknown", "riskCategory", "rubricVersion"}),
    },
}
"""The fields of each answer that the contract shows whole. Of the others it says that further fields are not shown."""

_ERROR = {"": _fields(models.ApiError)}


def unnamed_in(call: Call, document: object, *, is_success: bool) -> tuple[str, ...]:
    """Return the names of the members that the contract does not name, sorted; inside another one as `grade.mood`.

    Long names are cut, and of many some are left out.
    """
    named = _NAMED.get(call, {}) if is_success else _ERROR
    answer = object_of(document)
    names = {_short(name) for parent, known in named.items() for name in _unknown(answer, parent, known)}
    return tuple(sorted(names)[:_MOST_NAMES])


def _unknown(answer: Mapping[str, object], parent: str, known: frozenset[str]) -> list[str]:
    if not parent:
        return [*(answer.keys() - known)]
    inner = answer.get(parent)
    names = set(chain.from_iterable(list_of_objects(inner))) if isinstance(inner, list) else set(object_of(inner))
    return [f"{parent}.{name}" for name in names - known]


def _short(name: str) -> str:
    return printable(name[:_MOST_LETTERS])[:_MOST_LETTERS]


class _ThreadConnections(threading.local):
    def __init__(self) -> None:
        self.connections: dict[str, httpcore.ConnectionInterface] = {}


class Transport:
    """Sends requests from worker threads, each with one keyed and one keyless connection of its own.

    They are httpcore's: they follow no redirect (the key would go with it), keep no cookie, send nothing twice and log
    no URL. Without httpx and a pool around them, a small request costs half the CPU (docs/performance.md). The keyless
    connection never carries the key: slot and asset URLs lead to other hosts.
    """

    def __init__(self, timeouts: TimeoutSettings, *, user_agent: str, tls: ssl.SSLContext | None = None) -> None:
        """Take the time limit of a read and of a write; an answer has twice as long, from the last byte sent."""
        seconds = timeouts.read_seconds
        common = {"User-Agent": user_agent, "Accept": "application/json", "Accept-Encoding": "identity"}
        self._headers = _encoded(common)
        self._extensions = {"timeout": {"connect": _CONNECT_SECONDS, "read": seconds, "write": seconds}}
        self._backend = DeadlineBackend(2 * seconds)
        self._tls = tls or httpx.create_ssl_context()
        self._own = _ThreadConnections()
        self._connections: set[httpcore.ConnectionInterface] = set()

    def send(self, request: Request, *, attempt: int, key: SecretStr | None) -> Reply:
        """Make one exchange; the reply tells what went wrong on the wire.

        Only errors of this machine are raised: of local files (audio that changed, a full disk), and ConfigError for a
        proxy that cannot be used.
        """
        reply = _ReplyBuilder(request, attempt)
        answer: _Answer | None = None
        try:
            answer = self._answer(request, key)
            body = self._read(request, answer)
        except (*BROKEN_EXCHANGE, *_UNUSABLE_URL) as error:
            return reply.broken(answer, error)
        finally:
            if answer is not None:
                answer.close()
        return reply.whole(answer, body)

    def close_thread_connections(self) -> None:
        for connection in self._own.connections.values():
            self._connections.discard(connection)
            connection.close()
        self._own.connections.clear()

    def abort(self) -> None:
        """End all exchanges of all threads; they fail, and later ones fail too."""
        self._backend.abort()

    def close(self) -> None:
        while self._connections:
            self._connections.pop().close()

    def _answer(self, request: Request, key: SecretStr | None) -> "_Answer":
        address = _address(request.url, tuple(request.params.items()))
        headers = [(b"Host", address.host_header), *self._headers, *_encoded(request.headers)]
        if key is not None:
            headers += _encoded({"x-api-key": key.get_secret_value()})
        if request.content_bytes or request.method == "POST":
            headers.append((b"Content-Length", b"%d" % request.content_bytes))
        response = self._connection(request.call, address).handle_request(
            httpcore.Request(
                request.method, address.url, headers=headers, content=request.content, extensions=self._extensions
            )
        )
        return _Answer(response, stream_of(response))

    def _connection(self, call: Call, address: "_Address") -> httpcore.ConnectionInterface:
        """Return this thread's own connection: the one that it has, if that is idle and leads there, or a new one.

        A download has another than a form POST: they mostly lead to different hosts, one after the other.
        """
        kind = "keyed" if call.is_keyed else "download" if call is Call.DOWNLOAD else "keyless"
        connection = self._own.connections.get(kind)
        if connection is not None:
            leads_there = connection.can_handle_request(address.url.origin)
            if leads_there and connection.is_available() and not connection.has_expired():
                return connection
            self._connections.discard(connection)
            connection.close()
        connection = self._own.connections[kind] = self._new_connection(address)
        self._connections.add(connection)
        return connection

    def _new_connection(self, address: "_Address") -> httpcore.ConnectionInterface:
        return httpcore.ConnectionPool(
            ssl_context=self._tls,
            proxy=proxy_for(address.scheme, address.host),
            keepalive_expiry=_IDLE_SECONDS,
            network_backend=self._backend,
        ).create_connection(address.url.origin)

    def _read(self, request: Request, answer: "_Answer") -> bytes:
        if answer.is_success and answer.bytes_sent != request.content_bytes:  # a part was stored, or judged
            raise httpcore.RemoteProtocolError("the answer came before the whole request was sent")
        if request.into is not None and answer.is_success:
            request.into(self._pieces(answer, math.inf), _size_of(answer))
            return b""
        return b"".join(self._pieces(answer, _MOST_BODY_BYTES))

    def _pieces(self, answer: "_Answer", most_bytes: float) -> Iterator[bytes]:
        if answer.headers.get("content-encoding", "identity").strip().lower() not in {"", "identity"}:
            raise httpcore.RemoteProtocolError("the answer is encoded, but identity was requested")
        size_bytes = 0
        for piece in answer.pieces():
            size_bytes += len(piece)
            if size_bytes > most_bytes:
                raise httpcore.RemoteProtocolError("the answer is too large")
            answer.stream.prolong(len(piece))
            yield piece


class _Answer:
    """An answer whose head has come; `pieces` gives the body as it is on the wire, `headers` have lowercase names."""

    def __init__(self, response: httpcore.Response, stream: DeadlineStream) -> None:
        self.stream, self.bytes_sent = stream, stream.body_bytes_sent
        self.status: int = response.status
        self.is_success = response.status in _SUCCESSES
        self.headers = dict(httpx.Headers(response.headers).items())
        self.pieces: Callable[[], Iterator[bytes]] = response.iter_stream
        self.close = response.close


@dataclass(frozen=True, slots=True)
class _Address:
    url: httpcore.URL
    scheme: str
    host: str
    host_header: bytes


@lru_cache(maxsize=_CACHED_ADDRESSES)
def _address(address: str, params: tuple[tuple[str, str | int], ...]) -> _Address:
    """Parse an address once; a run has few of them, and parsing costs a fifth of a small request."""
    url = httpx.URL(address, params=dict(params)) if params else httpx.URL(address)
    if url.scheme not in _SCHEMES:
        raise httpcore.UnsupportedProtocol("no http or https")
    if (url.port or 0) > _HIGHEST_PORT:  # the system would take the lowest 16 bits, and reach somebody else
        raise httpx.InvalidURL("no such port")
    without_user = httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path)
    return _Address(without_user, url.scheme, url.host, url.netloc)


def _encoded(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.encode("ascii"), text.encode("ascii")) for name, text in headers.items()]


def _size_of(answer: _Answer) -> int | None:
    digits = answer.headers.get("content-length", "")
    return int(digits) if digits.isascii() and digits.isdecimal() else None


class _ReplyBuilder:
    def __init__(self, request: Request, attempt: int) -> None:
        self._request, self._attempt = request, attempt
        self._started_at, self._began = datetime.now(UTC), time.perf_counter()

    def whole(self, answer: _Answer, content: bytes) -> Reply:
        call = self._request.call
        expects_json = call.is_keyed or call is Call.HEALTH
        document = json_of(content) if expects_json else None
        flaw = self._request.flaw(document) if expects_json and answer.is_success else None
        code = None if answer.is_success else text_of(object_of(document).get("code"))
        exchange = replace(self._exchange(answer, Failure.BAD_ANSWER if flaw else None, code), because=flaw)
        unnamed = unnamed_in(call, document, is_success=answer.is_success)
        exchange = replace(exchange, unnamed=unnamed) if unnamed else exchange
        return Reply(exchange, document, hashlib.sha256(content).hexdigest())

    def broken(self, answer: _Answer | None, error: Exception) -> Reply:
        failure = Failure.CONNECTION if answer is None else Failure.BAD_ANSWER
        if isinstance(error, httpcore.TimeoutException):
            failure = Failure.TIMEOUT
        exchange = self._exchange(answer, failure, was_sent=not isinstance(error, _NEVER_SENT))
        return Reply(exchange if failure is not Failure.CONNECTION else replace(exchange, because=cause_of(error)))

    def _exchange(
        self, answer: _Answer | None, failure: Failure | None, code: str | None = None, *, was_sent: bool = True
    ) -> Exchange:
        received = answer.headers if answer is not None else {}
        headers = AnswerHeaders.read(received, now=self._started_at)
        bytes_sent = answer.bytes_sent if answer is not None else self._request.content_bytes
        names = _STORAGE_ID_HEADERS if self._request.call in {Call.SLOT, Call.DOWNLOAD} else ()
        storage_ids = (received[name][:200] for name in names if received.get(name))
        return Exchange(
            call=self._request.call,
            attempt=self._attempt,
            started_at=self._started_at,
            elapsed_ms=(time.perf_counter() - self._began) * 1000,
            headers=headers,
            status=answer.status if answer is not None else None,
            error_code=code,
            failure=failure,
            request_id=headers.request_id,
            storage_id=next(storage_ids, None),
            bytes_sent=max(0, bytes_sent) if was_sent else None,
        )
