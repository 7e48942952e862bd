"""A network that does what networks do: it stands before a service, and something befalls each call or none.

A service behind it must close the connection after each answer. So that nothing depends on chance, every call is taken
in whole, the service's answer too, and only then goes on what of it is to arrive.
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


class Mishap(StrEnum):
    """What befalls a call."""

    LATE = "late"
    """The answer is there, and takes its time."""
    RESET_BEFORE_BODY = "reset before the body"
    """The service hears nothing of it."""
    RESET_BEFORE_ANSWER = "reset before the answer"
    """The service has answered, to nobody."""
    UNHEARD = "unheard"
    """It is accepted, never answered and never closed; the service hears nothing of it."""
    UNANSWERED = "unanswered"
    """The same, but the service has answered, to nobody."""
    CUT = "cut"
    """The answer ends in the middle of its body."""
    TRICKLING = "trickling"
    """The answer comes byte by byte."""


NEVER_HEARD = {Mishap.RESET_BEFORE_BODY, Mishap.UNHEARD}

Befalls = Callable[[int], Mishap | None]
"""Says what befalls a call; is told its running number, from 0."""


@dataclass(slots=True)
class BadNetwork:
    """A way to the service at `url`.

    Attributes:
        befalls: by call: health, usage, uploads, slot, verify.
        seen: how often each call set out.
        late_seconds: how late an answer is, and how long each byte of a trickle takes.
    """

    url: str
    befalls: dict[str, Befalls] = field(default_factory=dict)
    seen: Counter[str] = field(default_factory=Counter)
    late_seconds: float = 0.1
    over: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def mishap_of(self, call: str) -> Mishap | None:
        """Count a call, and say what befalls it."""
        with self._lock:
            self.seen[call] += 1
            return self.befalls.get(call, lambda _number: None)(self.seen[call] - 1)

    @contextmanager
    def leading(self) -> Iterator[str]:
        """Open the way; give where it begins."""
        with _Server(("127.0.0.1", 0), _Carrier) as server:
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
        """Say nothing of who went away."""


class _Carrier(StreamRequestHandler):
    """Carries one call to the service, and what comes of it back."""

    server: _Server

    def handle(self) -> None:
        """Take one call, if there is one, and let befall it what is to."""
        head = b"".join(iter(self.rfile.readline, b"\r\n"))
        if not head:
            return
        mishap = self.server.network.mishap_of(_call_of(head))
        if mishap is Mishap.RESET_BEFORE_BODY:
            self._reset()
            return
        body = self.rfile.read(_size_of(head))
        answer = b"" if mishap is Mishap.UNHEARD else self._asked(head + b"\r\n" + body)
        self._deliver(answer, mishap)

    def _asked(self, whole: bytes) -> bytes:
        target = urlsplit(self.server.network.url)
        with socket.create_connection((target.hostname, target.port)) as service:
            service.sendall(whole)
            return b"".join(iter(lambda: service.recv(65_536), b""))

    def _deliver(self, answer: bytes, mishap: Mishap | None) -> None:
        match mishap:
            case Mishap.RESET_BEFORE_ANSWER:
                self._reset()
            case Mishap.UNHEARD | Mishap.UNANSWERED:
                self.server.network.over.wait()
            case Mishap.CUT:
                body_at = answer.index(_END_OF_HEAD) + len(_END_OF_HEAD)
                self.wfile.write(answer[: (body_at + len(answer)) // 2])
            case Mishap.TRICKLING:
                self._trickle(answer)
            case Mishap.LATE:
                time.sleep(self.server.network.late_seconds)
                self.wfile.write(answer)
            case None:
                self.wfile.write(answer)

    def _trickle(self, answer: bytes) -> None:
        with suppress(OSError):  # nobody waits that long
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
