"""Sends one request and takes its answer, over httpx: the only place that touches sockets."""

import math
import socket
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import lru_cache
from typing import Any
from weakref import WeakSet

import httpcore
import httpx
from pydantic import SecretStr

from proofsweep.client.reply import Reply, Request, Sending
from proofsweep.client.service_clock import ServiceClock
from proofsweep.config.proxies import Proxies, Proxy
from proofsweep.config.sections import TimeoutSettings
from proofsweep.config.threads import Event, Lock, Timer, local, monotonic
from proofsweep.domain.errors import SourceError
from proofsweep.pacing.call_queue import MOST_UPLOADS

BROKEN_EXCHANGE = (httpx.TransportError, httpx.InvalidURL, UnicodeError)  # the last one: for impossible host names
FIRST_CONTACT_SECONDS = 30.0  # how long a service is tried that was never reached
_SILENT_SECONDS = 2.5  # after which somebody is told that it is not reached yet
_CONNECT_SECONDS = 10.0
_MOST_BODY_BYTES = 2 * 1024 * 1024  # the largest body kept in memory
_LEAST_BYTES_PER_SECOND = 64 * 1024  # the slowest body that is read to its end, however long: 0.5 Mbit/s
# The slowest body that is sent to its end: one of the most files that share a link of 2 Mbit/s (docs/reliability.md).
_LEAST_SENT_BYTES_PER_SECOND = 2_000_000 / 8 / MOST_UPLOADS
_PACKET_BYTES = 64 * 1024  # what is written at once; before each, the time limit is looked at
_MOST_CONNECTIONS, _KEPT_SECONDS = 3, 5.0  # to the API, to the storage, and for a download
_CACHED_ADDRESSES = 256  # addresses that are parsed once
_HIGHEST_PORT = 65_535


class _ThreadClients(local):
    def __init__(self) -> None:
        self.clients: dict[Proxy | None, _Connections] = {}


class Transport:
    """Sends requests from worker threads, each with connections of its own.

    It follows no redirect (the key would go with it), keeps no cookie, sends nothing twice and logs no URL: an
    `httpx.Client` above it would read each.
    """

    def __init__(
        self,
        timeouts: TimeoutSettings,
        *,
        user_agent: str,
        proxies: Proxies,
        clock: ServiceClock | None = None,
        tls: ssl.SSLContext | None = None,
        on_silence: Callable[[], object] = lambda: None,
    ) -> None:
        """Take the time limit of a read and of a write; an answer has twice as long, from the last byte sent.

        The sending of a request has twice as long too, and the time that its body takes on the slowest link.
        The `clock` learns from the answers. `on_silence` is called in another thread if nothing is reached for some
        seconds after the first call.
        """
        seconds = timeouts.read_seconds
        self._time_limits = {"connect": _CONNECT_SECONDS, "read": seconds, "pool": _CONNECT_SECONDS}
        self._headers = {"User-Agent": user_agent, "Accept": "application/json", "Accept-Encoding": "identity"}
        self._clock = clock or ServiceClock()
        self._tls = tls or httpx.create_ssl_context()
        self._network = _Network(stall_seconds=seconds, answer_seconds=2 * seconds)
        self._own = _ThreadClients()
        self._clients = set[_Connections]()
        self.proxies = proxies
        self._proxy_to = lru_cache(_CACHED_ADDRESSES)(self.proxies.to)
        self.reached = Event()  # set when the head of a first request was sent
        self._tried_since = math.inf
        self._silence = Timer(_SILENT_SECONDS, self._warn_of_silence)
        self._silence.daemon = True
        self._on_silence = on_silence

    def send(self, request: Request, *, attempt: int, key: SecretStr | None) -> Reply:
        """Make one exchange; the reply tells what went wrong on the wire, and what ended the body at its source.

        Only errors of this machine are raised: of what takes a body (a full disk), and ConfigError for a proxy that
        cannot be used.
        """
        if self._tried_since == math.inf:
            self._tried_since = monotonic()
            self._silence.start()
        sending = Sending(request, attempt, self.reached, self._clock)
        answer: httpx.Response | None = None
        try:
            answer = self._answer(request, sending, key)
            content = _content(request, answer, sending.bytes_sent)
        except BROKEN_EXCHANGE as error:
            return sending.broken(answer, error)
        except SourceError as error:
            return sending.abandoned(error)
        finally:
            if answer is not None:
                answer.close()
        return sending.answered(answer, content)

    def _warn_of_silence(self) -> None:
        if not self.reached.is_set():
            self._on_silence()

    @property
    def left_seconds(self) -> float:
        """Return how long the service is still tried; infinite once it was reached."""
        if self.reached.is_set():
            return math.inf
        tried_until = self._tried_since + FIRST_CONTACT_SECONDS
        return tried_until - monotonic()

    def abort(self) -> None:
        """End all exchanges of all threads; they fail, and later ones fail too."""
        self._network.abort()

    def close(self) -> None:
        self._silence.cancel()
        while self._clients:
            self._clients.pop().close()

    def _answer(self, request: Request, sending: Sending, key: SecretStr | None) -> httpx.Response:
        url = _address(request.url, tuple(request.params.items()))
        headers = {"Host": url.netloc.decode("ascii"), **self._headers, **request.headers}
        if key is not None:
            headers["x-api-key"] = key.get_secret_value()
        if request.content_bytes or request.method == "POST":
            headers["Content-Length"] = str(request.content_bytes)  # storage refuses a body in chunks
        body_seconds = request.content_bytes / _LEAST_SENT_BYTES_PER_SECOND
        send_seconds = self._network.answer_seconds + body_seconds
        limits = {"timeout": self._time_limits | {"write": send_seconds}}
        proxy = self._proxy_to(url.scheme, url.host)
        sent = httpx.Request(request.method, url, headers=headers, stream=sending, extensions=limits)
        answer = self._client(proxy).handle_request(sent)
        stream = answer.extensions["network_stream"]
        if isinstance(stream, _Stream) and stream.has_read:
            return answer
        # It came before its request, and would give one item the verdict of another; or it switches to another
        # protocol.
        answer.close()
        raise httpx.RemoteProtocolError("an answer to no request")

    def _client(self, proxy: Proxy | None) -> "_Connections":
        client = self._own.clients.get(proxy)
        if client is None:
            client = _Connections(self._network, self._tls, proxy)
            self._own.clients[proxy] = client
            self._clients.add(client)
        return client


@lru_cache(maxsize=_CACHED_ADDRESSES)
def _address(address: str, params: tuple[tuple[str, str | int], ...]) -> httpx.URL:
    # A run has few addresses, and parsing one costs a fifth of a small request.
    url = httpx.URL(address)
    if params:
        url = url.copy_with(params=dict(params))
    if url.scheme not in {"http", "https"}:
        raise httpx.UnsupportedProtocol("no http or https")
    if (url.port or 0) > _HIGHEST_PORT:  # the system would take the lowest 16 bits, and reach somebody else
        raise httpx.InvalidURL("no such port")
    return url


def _content(request: Request, answer: httpx.Response, bytes_sent: int | None) -> bytes:
    if answer.is_success and bytes_sent != request.content_bytes:  # a part was stored, or judged
        raise httpx.RemoteProtocolError("the answer came before the whole request was sent")
    if request.into is None or not answer.is_success:
        return b"".join(_pieces(answer, _MOST_BODY_BYTES))
    request.into(_pieces(answer, math.inf))
    return b""


def _pieces(answer: httpx.Response, most_bytes: float) -> Iterator[bytes]:
    if answer.headers.get("content-encoding", "identity").strip().lower() not in {"", "identity"}:
        raise httpx.RemoteProtocolError("the answer is encoded, but identity was requested")
    for piece in answer.iter_raw():
        if answer.num_bytes_downloaded > most_bytes:
            raise httpx.RemoteProtocolError("the answer is too large")
        answer.extensions["network_stream"].due_at += len(piece) / _LEAST_BYTES_PER_SECOND
        yield piece


_TIMEOUTS_AS_OF_HTTPX: Mapping[type[Exception], type[httpx.TransportError]] = {
    httpcore.ConnectTimeout: httpx.ConnectTimeout,
    httpcore.ReadTimeout: httpx.ReadTimeout,
    httpcore.WriteTimeout: httpx.WriteTimeout,
    httpcore.PoolTimeout: httpx.PoolTimeout,
}
_FAILURES_AS_OF_HTTPX: Mapping[type[Exception], type[httpx.TransportError]] = {
    httpcore.ConnectError: httpx.ConnectError,
    httpcore.ReadError: httpx.ReadError,
    httpcore.WriteError: httpx.WriteError,
    httpcore.ProxyError: httpx.ProxyError,
    httpcore.UnsupportedProtocol: httpx.UnsupportedProtocol,
    httpcore.LocalProtocolError: httpx.LocalProtocolError,
    httpcore.RemoteProtocolError: httpx.RemoteProtocolError,
}
_AS_OF_HTTPX = {**_TIMEOUTS_AS_OF_HTTPX, **_FAILURES_AS_OF_HTTPX}


@contextmanager
def _errors_of_httpx() -> Iterator[None]:
    try:
        yield
    except tuple(_AS_OF_HTTPX) as error:
        raise _AS_OF_HTTPX[type(error)](str(error)) from error


class _Connections(httpx.BaseTransport):
    """The connections of one thread, direct or through one proxy.

    `httpx.HTTPTransport` does the same, but takes no network backend of httpcore.
    """

    def __init__(self, network: "_Network", tls: ssl.SSLContext, proxy: Proxy | None) -> None:
        way = None if proxy is None else _way_through(proxy, tls)
        self._pool = httpcore.ConnectionPool(
            ssl_context=tls,
            proxy=way,
            max_connections=_MOST_CONNECTIONS,
            keepalive_expiry=_KEPT_SECONDS,
            network_backend=network,
        )

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        sent = httpcore.Request(
            request.method,
            _address_of_httpcore(request.url),
            headers=request.headers.raw,
            content=request.stream,
            extensions=request.extensions,
        )
        with _errors_of_httpx():
            answer = self._pool.handle_request(sent)
        body = _Body(answer)
        return httpx.Response(answer.status, headers=answer.headers, stream=body, extensions=answer.extensions)

    def close(self) -> None:
        self._pool.close()


class _Body(httpx.SyncByteStream):
    def __init__(self, answer: httpcore.Response) -> None:
        self._answer = answer

    def __iter__(self) -> Iterator[bytes]:
        with _errors_of_httpx():
            yield from self._answer.iter_stream()

    def close(self) -> None:
        self._answer.close()


def _way_through(proxy: Proxy, tls: ssl.SSLContext) -> httpcore.Proxy:
    named = httpx.Proxy(proxy.url)  # takes user and password out of the URL
    address = _address_of_httpcore(named.url)
    tls_to_proxy = tls if named.url.scheme == "https" else None
    return httpcore.Proxy(address, auth=named.raw_auth, ssl_context=tls_to_proxy)


def _address_of_httpcore(url: httpx.URL) -> httpcore.URL:
    return httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path)


class _Network(httpcore.SyncBackend):
    """Opens connections on which an answer may take `answer_seconds` in all, and can abort all of them.

    The other side may take no byte of a request for at most `stall_seconds`.
    """

    def __init__(self, *, stall_seconds: float, answer_seconds: float) -> None:
        self.stall_seconds, self.answer_seconds = stall_seconds, answer_seconds
        self._open = WeakSet[_Stream]()
        self._is_aborted = False
        self._lock = Lock()

    def connect_tcp(self, *given: Any, **named: Any) -> httpcore.NetworkStream:  # noqa: ANN401 - httpcore's own
        return self.limited(super().connect_tcp(*given, **named))

    def limited(self, stream: httpcore.NetworkStream) -> "_Stream":
        limited = _Stream(stream, self)
        # A thread may just have connected while all were aborted: nobody would end its exchange.
        with self._lock:
            if self._is_aborted:
                stream.close()
                raise httpcore.ConnectError("aborted")
            self._open.add(limited)
        return limited

    def abort(self) -> None:
        with self._lock:
            self._is_aborted = True
            for stream in self._open:
                stream.abort()


class _Stream(httpcore.NetworkStream):
    """Limits the time of a whole request, and from its last byte sent that of the whole answer.

    httpcore's own limits are for one read and one write: by them a byte a minute would go on for ever.
    """

    def __init__(self, stream: httpcore.NetworkStream, network: _Network) -> None:
        self._stream, self._network = stream, network
        self.due_at = monotonic() + network.answer_seconds
        self.has_read = True  # whether anything was read since the last write
        self._held = b""
        self._send_until = math.inf

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        if self._held:
            self.write(b"", timeout)
        left_seconds = self.due_at - monotonic()
        if left_seconds <= 0:
            raise httpcore.ReadTimeout("the answer took too long")
        self.has_read = True
        if timeout is not None:
            left_seconds = min(timeout, left_seconds)
        return self._stream.read(max_bytes, left_seconds)

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Write. The first piece, a request's head, goes with the next one in one packet.

        The `timeout` that comes with the head is that of the whole request.
        """
        if self.has_read:
            self.has_read, self._held = False, buffer
            self._send_until = math.inf
            if timeout is not None:
                self._send_until = monotonic() + timeout
            return
        held, self._held = self._held, b""
        try:
            self._write_in_time(held + buffer)
        finally:
            self.due_at = monotonic() + self._network.answer_seconds

    def _write_in_time(self, content: bytes) -> None:
        # Between two packets the time limit is looked at; one long write would not end by it.
        for start in range(0, len(content), _PACKET_BYTES):
            left_seconds = self._send_until - monotonic()
            if left_seconds <= 0:
                raise httpcore.WriteTimeout("the request took too long")
            packet = content[start : start + _PACKET_BYTES]
            self._stream.write(packet, min(self._network.stall_seconds, left_seconds))

    def close(self) -> None:
        self._stream.close()

    def abort(self) -> None:
        """Make a blocked read or write fail at once; a mere close would leave it blocked."""
        connection = self._stream.get_extra_info("socket")
        with suppress(OSError):  # no longer connected
            socket.socket.shutdown(connection, socket.SHUT_RDWR)  # below TLS: a TLS shutdown does not wake a reader

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        """Go on under TLS, with the same limit; Python limits the whole handshake."""
        return self._network.limited(self._stream.start_tls(ssl_context, server_hostname, timeout))

    def get_extra_info(self, info: str) -> object:
        return self._stream.get_extra_info(info)
