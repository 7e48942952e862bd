"""Sends one request and takes its answer, over httpx: the only place that touches sockets."""

import math
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import suppress
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

BROKEN_EXCHANGE = (httpx.TransportError, httpx.InvalidURL, UnicodeError)  # the last one: for impossible host names
FIRST_CONTACT_SECONDS = 30.0  # how long a service is tried that was never reached
_SILENT_SECONDS = 2.5  # after which somebody is told that it is not reached yet
_CONNECT_SECONDS = 10.0
_MOST_BODY_BYTES = 2 * 1024 * 1024  # the largest body kept in memory
_LEAST_BYTES_PER_SECOND = 64 * 1024  # the slowest body that is read to its end, however long: 0.5 Mbit/s
_LIMITS = httpx.Limits(max_connections=3, keepalive_expiry=5.0)  # to the API, to the storage, and for a download
_CACHED_ADDRESSES = 256  # addresses that are parsed once
_HIGHEST_PORT = 65_535


class _ThreadClients(local):
    def __init__(self) -> None:
        self.clients: dict[Proxy | None, httpx.HTTPTransport] = {}


class Transport:
    """Sends requests from worker threads, each with an httpx transport of its own.

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

        The `clock` learns from the answers. `on_silence` is called in another thread if nothing is reached for some
        seconds after the first call.
        """
        seconds = timeouts.read_seconds
        timeout = httpx.Timeout(connect=_CONNECT_SECONDS, read=seconds, write=seconds, pool=_CONNECT_SECONDS)
        self._extensions = {"timeout": timeout.as_dict()}
        self._headers = {"User-Agent": user_agent, "Accept": "application/json", "Accept-Encoding": "identity"}
        self._clock = clock or ServiceClock()
        self._tls = tls or httpx.create_ssl_context()
        self._network = _Network(2 * seconds)
        self._own, self._clients = _ThreadClients(), set[httpx.HTTPTransport]()
        self.proxies = proxies
        self._proxy_to = lru_cache(_CACHED_ADDRESSES)(self.proxies.to)
        self.reached = Event()  # set when the head of a first request was sent
        self._tried_since = math.inf
        self._silence = Timer(_SILENT_SECONDS, lambda: self.reached.is_set() or on_silence())
        self._silence.daemon = True

    def send(self, request: Request, *, attempt: int, key: SecretStr | None) -> Reply:
        """Make one exchange; the reply tells what went wrong on the wire.

        Only errors of this machine are raised: of local files (audio that changed, a full disk), and ConfigError for a
        proxy that cannot be used.
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
        finally:
            if answer is not None:
                answer.close()
        return sending.answered(answer, content)

    @property
    def left_seconds(self) -> float:
        """Return how long the service is tried yet; once it was reached, without an end."""
        return math.inf if self.reached.is_set() else self._tried_since + FIRST_CONTACT_SECONDS - monotonic()

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
        client = self._client(self._proxy_to(url.scheme, url.host))
        sent = httpx.Request(request.method, url, headers=headers, stream=sending, extensions=self._extensions)
        answer = client.handle_request(sent)
        stream = answer.extensions["network_stream"]
        if isinstance(stream, _Stream) and stream.has_read:
            return answer
        # It came before its request, and would give one item the verdict of another; or it switches to another protocol
        answer.close()
        raise httpx.RemoteProtocolError("an answer to no request")

    def _client(self, proxy: Proxy | None) -> httpx.HTTPTransport:
        client = self._own.clients.get(proxy)
        if client is not None:
            return client
        tls = self._tls if proxy is not None and proxy.url.lower().startswith("https:") else None
        way = None if proxy is None else httpx.Proxy(proxy.url, ssl_context=tls)
        client = httpx.HTTPTransport(verify=self._tls, trust_env=False, limits=_LIMITS, proxy=way)
        client._pool._network_backend = self._network  # noqa: SLF001 - httpx has no door to httpcore's backend
        self._own.clients[proxy] = client
        self._clients.add(client)
        return client


@lru_cache(maxsize=_CACHED_ADDRESSES)
def _address(address: str, params: tuple[tuple[str, str | int], ...]) -> httpx.URL:
    """Parse an address once; a run has few of them, and parsing costs a fifth of a small request."""
    url = httpx.URL(address, params=dict(params)) if params else httpx.URL(address)
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


class _Network(httpcore.SyncBackend):
    """Opens connections on which an answer may take `answer_seconds` in all, and can abort all of them."""

    def __init__(self, answer_seconds: float) -> None:
        self.answer_seconds = answer_seconds
        self._open, self._lock, self._is_aborted = WeakSet[_Stream](), Lock(), False

    def connect_tcp(self, *given: Any, **named: Any) -> httpcore.NetworkStream:  # noqa: ANN401 - httpcore's own
        return self.limited(super().connect_tcp(*given, **named))

    def limited(self, stream: httpcore.NetworkStream) -> "_Stream":
        limited = _Stream(stream, self)
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
    """Limits the time from the last byte sent to the end of the answer: httpcore's own limit is for one read."""

    def __init__(self, stream: httpcore.NetworkStream, network: _Network) -> None:
        self._stream, self._network = stream, network
        self.due_at = monotonic() + network.answer_seconds
        self.has_read = True  # whether anything was read since the last write
        self._held = b""

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        if self._held:
            self.write(b"", timeout)
        left_seconds = self.due_at - monotonic()
        if left_seconds <= 0:
            raise httpcore.ReadTimeout("the answer took too long")
        self.has_read = True
        return self._stream.read(max_bytes, left_seconds if timeout is None else min(timeout, left_seconds))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Write; what is first, a request's head, goes with the next piece in one packet."""
        if self.has_read:
            self.has_read, self._held = False, buffer
            return
        held, self._held = self._held, b""
        try:
            self._stream.write(held + buffer, timeout)
        finally:
            self.due_at = monotonic() + self._network.answer_seconds

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
