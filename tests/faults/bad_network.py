"""A proxy in front of a service that acts as an unreliable network: each call may have a fault.

The service must close the connection after each answer. So that nothing depends on chance, the proxy first receives the
whole request and the whole answer, and only then sends on the part that is to arrive.
"""

import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import StrEnum
from socketserver import StreamRequestHandler, ThreadingTCPServer
from urllib.parse import urlsplit

_RESET = b"\x01\0\0\0\0\0\0\0"
_END_OF_HEAD = b"\r\n\r\n"


class NetworkFault(StrEnum):
    LATE = "late"
    """The answer arrives late."""
    RESET_BEFORE_BODY = "reset before the body"
    """The connection is reset, and the service does not receive the request."""
    RESET_BEFORE_ANSWER = "reset before the answer"
    """The connection is reset after the service has answered."""
    LOST_REQUEST = "lost request"
    """The connection stays open without an answer, and the service does not receive the request."""
    LOST_ANSWER = "lost answer"
    """The connection stays open without an answer, although the service has answered."""
    TRUNCATED = "truncated"
    """The answer ends in the middle of its body."""
    BYTE_BY_BYTE = "byte by byte"
    """The answer arrives one byte at a time."""


NEVER_RECEIVED = {NetworkFault.RESET_BEFORE_BODY, NetworkFault.LOST_REQUEST}

ChooseFault = Callable[[int], NetworkFault | None]
"""Gives the fault of a call from its running number, from 0; None is no fault."""


@dataclass(slots=True)
class BadNetwork:
    """The network in front of the service at `url`."""

    url: str
    # by call (health, usage, uploads, slot, verify), how its faults are chosen
    faults: dict[str, ChooseFault] = field(default_factory=dict)
    seen: Counter[str] = field(default_factory=Counter)  # the number of requests by call
    late_seconds: float = 0.1  # how late an answer is, and the time for each byte of an answer that comes byte by byte
    # set at the end of the test; it ends what would wait for ever
    over: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def fault_of(self, call: str) -> NetworkFault | None:
        """Count a call; give its fault."""
        with self._lock:
            self.seen[call] += 1
            choose = self.faults.get(call)
            return choose(self.seen[call] - 1) if choose else None

    @contextmanager
    def opened(self) -> Iterator[str]:
        """Open the network; give the URL of its near end."""
        with _Server(("127.0.0.1", 0), _Forwarder) as server:
            server.network = self
            threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
            yield f"http://127.0.0.1:{server.server_address[1]}"
            self.over.set()
            server.shutdown()


class _Server(ThreadingTCPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128
    network: BadNetwork

    def handle_error(self, _request: object, _client_address: object) -> None:
        """Ignore a client that disconnected."""


class _Forwarder(StreamRequestHandler):
    """Forwards one call to the service, and its answer back."""

    server: _Server

    def handle(self) -> None:
        head = b"".join(iter(self.rfile.readline, b"\r\n"))
        if not head:
            return
        fault = self.server.network.fault_of(_call_of(head))
        if fault is NetworkFault.RESET_BEFORE_BODY:
            self._reset()
            return
        body = self.rfile.read(_size_of(head))
        answer = b"" if fault is NetworkFault.LOST_REQUEST else self._answer_to(head + b"\r\n" + body)
        self._deliver(answer, fault)

    def _answer_to(self, whole: bytes) -> bytes:
        target = urlsplit(self.server.network.url)
        with socket.create_connection((target.hostname, target.port)) as service:
            service.sendall(whole)
            return b"".join(iter(lambda: service.recv(65_536), b""))

    def _deliver(self, answer: bytes, fault: NetworkFault | None) -> None:
        match fault:
            case NetworkFault.RESET_BEFORE_ANSWER:
                self._reset()
            case NetworkFault.LOST_REQUEST | NetworkFault.LOST_ANSWER:
                self.server.network.over.wait()
            case NetworkFault.TRUNCATED:
                body_at = answer.index(_END_OF_HEAD) + len(_END_OF_HEAD)
                self.wfile.write(answer[: (body_at + len(answer)) // 2])
            case NetworkFault.BYTE_BY_BYTE:
                self._send_bytes(answer)
            case NetworkFault.LATE:
                time.sleep(self.server.network.late_seconds)
                self.wfile.write(answer)
            case None:
                self.wfile.write(answer)

    def _send_bytes(self, answer: bytes) -> None:
        with suppress(OSError):  # the client may have given up
            for byte in answer:
                self.wfile.write(bytes([byte]))
                if self.server.network.over.wait(self.server.network.late_seconds):
                    return

    def _reset(self) -> None:
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self.connection.close()


def _call_of(head: bytes) -> str:
    path = urlsplit(head.split(b" ", 2)[1].decode("latin-1")).path
    return "slot" if path.startswith("/bucket/") else path.rpartition("/")[2]


def _size_of(head: bytes) -> int:
    fields = (line.partition(b":") for line in head.lower().splitlines())
    return next((int(text) for name, _, text in fields if name == b"content-length"), 0)
