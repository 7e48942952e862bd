"""What an answer may not do: take for ever, be it for its headers, or come before its question."""

import socket
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from ssl import SSLContext
from weakref import WeakSet

import httpcore
import httpx

Options = Iterable[httpcore.SOCKET_OPTION]


def refuse_unsolicited(answer: httpx.Response) -> None:
    """Raise for an answer that was here before its question was sent: behind the answer to the one before it.

    Believed, it would give one item the verdict of another. A change to another protocol, which nobody asks for, is
    none either.
    """
    stream = answer.extensions["network_stream"]
    if not (isinstance(stream, PunctualStream) and stream.has_read):
        answer.close()
        raise httpx.RemoteProtocolError("an answer to no question")


class PunctualBackend(httpcore.SyncBackend):
    """Opens httpcore's own connections, on which an answer may take `answer_seconds` in all, until they are cut."""

    def __init__(self, answer_seconds: float) -> None:
        self._answer_seconds = answer_seconds
        self._open: WeakSet[PunctualStream] = WeakSet()
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
        """Connect as usual, unless all is cut."""
        self._refuse_when_aborted()
        stream = super().connect_tcp(host, port, timeout, local_address, socket_options)
        return self.punctual(stream)

    def punctual(self, stream: httpcore.NetworkStream) -> "PunctualStream":
        """Watch over a connection, unless all are cut by now."""
        punctual = PunctualStream(stream, self._answer_seconds, self)
        with self._lock:
            self._open.add(punctual)
        try:
            self._refuse_when_aborted()
        except httpcore.ConnectError:
            stream.close()
            raise
        return punctual

    def _refuse_when_aborted(self) -> None:
        if self._is_aborted:
            raise httpcore.ConnectError("cut off")

    def abort(self) -> None:
        """Break off every exchange, whatever it waits for, and those that will be begun."""
        self._is_aborted = True
        with self._lock:
            for stream in self._open:
                stream.abort()


class PunctualStream(httpcore.NetworkStream):
    """Counts from the last byte sent to the end of the answer; sending takes as long as it takes.

    httpcore's own limit is for one read, which a byte now and then, or one more interim answer, begins anew.

    Attributes:
        has_read: whether anything was read since the last write.
    """

    def __init__(self, stream: httpcore.NetworkStream, answer_seconds: float, backend: PunctualBackend) -> None:
        self._stream = stream
        self._backend = backend
        self._answer_seconds = answer_seconds
        self._due_at = time.monotonic() + answer_seconds
        self.has_read = False

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Read, within the limit of one read and what is left for the answer."""
        left = self._due_at - time.monotonic()
        if left <= 0:
            raise httpcore.ReadTimeout("the answer took too long")
        self.has_read = True
        return self._stream.read(max_bytes, left if timeout is None else min(timeout, left))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Write, and give the answer its whole time from now on; a refused write may have one too."""
        self.has_read = False
        try:
            self._stream.write(buffer, timeout)
        finally:
            self._due_at = time.monotonic() + self._answer_seconds

    def close(self) -> None:
        """Close the connection."""
        self._stream.close()

    def abort(self) -> None:
        """Let whoever reads or writes come back with an error, at once; closing would leave them waiting."""
        connection = self._stream.get_extra_info("socket")
        with suppress(OSError):  # not connected any more
            socket.socket.shutdown(connection, socket.SHUT_RDWR)  # beneath TLS, whose own would be missed by a reader

    def start_tls(
        self, ssl_context: SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        """Go on under TLS, with the same limit; Python bounds a handshake as a whole."""
        stream = self._stream.start_tls(ssl_context, server_hostname, timeout)
        return self._backend.punctual(stream)

    def get_extra_info(self, info: str) -> object:
        """Tell of the connection beneath."""
        return self._stream.get_extra_info(info)
