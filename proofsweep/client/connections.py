"""Connections: the proxy on the way, why one fails, and that an answer ends in time and follows its request."""

import socket
import ssl
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from importlib.util import find_spec
from ipaddress import ip_address, ip_network
from ssl import SSLContext
from urllib.request import getproxies, proxy_bypass
from weakref import WeakSet

import httpcore
import httpx

from proofsweep.domain.errors import ConfigError

_LEAST_BYTES_PER_SECOND = 64 * 1024  # the slowest body that is read to its end, however long: 0.5 Mbit/s

Options = Iterable[httpcore.SOCKET_OPTION]

_HELD_BYTES = 16 * 1024  # fewer bytes are held back, so that a request's head and a small body go in one packet
BROKEN_EXCHANGE = (
    httpcore.NetworkError,
    httpcore.ProtocolError,
    httpcore.ProxyError,
    httpcore.TimeoutException,
    httpcore.UnsupportedProtocol,
)
"""All that httpcore raises for an exchange that does not come to its end."""
_LOOPBACK = ("127.0.0.0/8", "::1")
_NO_URL = "it must be a host and a port, or a URL that begins with http://, https://, socks5:// or socks5h://"
_NO_SOCKS = "SOCKS needs the Python package socksio; install it, or set an HTTP proxy"


def stream_of(answer: httpcore.Response) -> "DeadlineStream":
    """Return the stream of an answer; raise for one that came before its request, after the answer to an earlier one.

    It would give one item the verdict of another. A switch to another protocol, which no request asks for, is refused
    too.
    """
    stream = answer.extensions["network_stream"]
    if isinstance(stream, DeadlineStream) and stream.has_read:
        return stream
    answer.close()
    raise httpcore.RemoteProtocolError("an answer to no request")


class DeadlineBackend(httpcore.SyncBackend):
    """Opens httpcore's connections, on which an answer may take `answer_seconds` in all; can abort all of them."""

    def __init__(self, answer_seconds: float) -> None:
        self._answer_seconds = answer_seconds
        self._open: WeakSet[DeadlineStream] = WeakSet()
        self._is_aborted = False
        self._lock = threading.Lock()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Options | None = None,
    ) -> httpcore.NetworkStream:
        self._refuse_when_aborted()
        stream = super().connect_tcp(host, port, timeout, local_address, socket_options)
        return self.limited(stream)

    def limited(self, stream: httpcore.NetworkStream) -> "DeadlineStream":
        limited = DeadlineStream(stream, self._answer_seconds, self)
        with self._lock:
            self._open.add(limited)
        try:
            self._refuse_when_aborted()
        except httpcore.ConnectError:
            stream.close()
            raise
        return limited

    def _refuse_when_aborted(self) -> None:
        if self._is_aborted:
            raise httpcore.ConnectError("aborted")

    def abort(self) -> None:
        self._is_aborted = True
        with self._lock:
            for stream in self._open:
                stream.abort()


class DeadlineStream(httpcore.NetworkStream):
    """Limits the time from the last byte sent to the end of the answer; the time to send is not limited.

    httpcore's own limit is for one read. A slow trickle of bytes, or of interim answers, restarts it each time.
    """

    def __init__(self, stream: httpcore.NetworkStream, answer_seconds: float, backend: DeadlineBackend) -> None:
        self._stream = stream
        self._backend = backend
        self._answer_seconds = answer_seconds
        self._due_at = time.monotonic() + answer_seconds
        self._held = b""
        self._write_seconds: float | None = None
        self.has_read = True  # whether anything was read since the last write
        self.body_bytes_sent = 0  # of the body of the last request, in writes that came to their end

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        if self._held:
            with suppress(httpcore.WriteError):  # a refused write may have an answer too
                self._send()
        left_seconds = self._due_at - time.monotonic()
        if left_seconds <= 0:
            raise httpcore.ReadTimeout("the answer took too long")
        self.has_read = True
        return self._stream.read(max_bytes, left_seconds if timeout is None else min(timeout, left_seconds))

    def prolong(self, read_bytes: int) -> None:
        self._due_at += read_bytes / _LEAST_BYTES_PER_SECOND

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Write, or hold a small piece back until the next one or the read; a request's head is its first piece."""
        if self.has_read:
            self.has_read, self.body_bytes_sent = False, -len(buffer)
        self._held, self._write_seconds = self._held + buffer, timeout
        if len(self._held) >= _HELD_BYTES:
            self._send()

    def _send(self) -> None:
        held, self._held = self._held, b""
        try:
            self._stream.write(held, self._write_seconds)
            self.body_bytes_sent += len(held)
        finally:
            self._due_at = time.monotonic() + self._answer_seconds

    def close(self) -> None:
        self._stream.close()

    def abort(self) -> None:
        """Make a blocked read or write fail at once; a mere close would leave it blocked."""
        connection = self._stream.get_extra_info("socket")
        with suppress(OSError):  # no longer connected
            socket.socket.shutdown(connection, socket.SHUT_RDWR)  # below TLS: a TLS shutdown does not wake a reader

    def start_tls(
        self, ssl_context: SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        """Go on under TLS, with the same limit; Python limits the whole handshake."""
        stream = self._stream.start_tls(ssl_context, server_hostname, timeout)
        return self._backend.limited(stream)

    def get_extra_info(self, info: str) -> object:
        return self._stream.get_extra_info(info)


def cause_of(error: BaseException) -> str | None:
    """Return in a clause why a connection failed, by the system's errors behind it; None if none of them tells."""
    return next((clause for each in _chain(error) if (clause := _clause(each))), None)


def _clause(error: BaseException) -> str | None:
    clause: str | None = None
    match error:
        case httpcore.ProxyError():
            clause = "the proxy refused the connection: check its user and password, and whether it allows this host"
        case socket.gaierror():
            clause = "DNS does not know the host's name: check service.base_url and the network"
        case ssl.SSLCertVerificationError():
            why = getattr(error, "verify_message", "no reason given")
            clause = f"TLS: the host's certificate is not trusted ({why})"
        case ssl.SSLError():
            clause = f"TLS failed ({getattr(error, 'reason', None) or 'no reason given'}): is this an https address?"
        case ConnectionRefusedError():
            clause = "the connection was refused: nothing listens at this address and port"
        case ConnectionResetError() | BrokenPipeError():
            clause = "the other side closed the connection"
        case OSError(strerror=str(why)):
            clause = why[:1].lower() + why[1:]
    return clause


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    seen: list[BaseException] = []
    while error is not None and error not in seen:
        seen.append(error)
        error = error.__cause__ or error.__context__
    return reversed(seen)


def proxy_for(scheme: str, host: str) -> httpcore.Proxy | None:
    """Return the proxy to a host, if any; ConfigError, which does not show it, if it cannot be used."""
    proxies = getproxies()
    kind = scheme if proxies.get(scheme) else "all"
    address = proxies.get(kind)
    if not address or _is_direct(host, proxies.get("no", "")):
        return None
    try:
        given = httpx.Proxy(address if "://" in address else f"http://{address}")
        proxy = httpcore.Proxy(str(given.url), auth=given.raw_auth)
    except (httpx.InvalidURL, ValueError):
        raise _unusable(kind, _NO_URL) from None
    if not given.url.host:
        raise _unusable(kind, _NO_URL)
    if given.url.scheme.startswith("socks") and find_spec("socksio") is None:
        raise _unusable(kind, _NO_SOCKS)
    return proxy


def _is_direct(host: str, no_proxy: str) -> bool:
    """Whether no proxy is on the way: never to this machine itself, nor to a host or network of NO_PROXY."""
    for network in (*_LOOPBACK, *no_proxy.split(",")):
        with suppress(ValueError):  # one of them is a name
            if ip_address(host) in ip_network(network.strip(" []"), strict=False):
                return True
    return host == "localhost" or bool(proxy_bypass(host))


def _unusable(kind: str, why: str) -> ConfigError:
    name = f"{kind}_proxy"
    return ConfigError(f"The proxy in {name} or {name.upper()} cannot be used: {why}.")
