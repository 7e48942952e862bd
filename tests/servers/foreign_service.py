"""The foreign service: a second implementation of the contract, so that tests do not depend on the sandbox alone.

It is written from the contract, without the sandbox's code, and behaves differently wherever the contract leaves a
choice. It serves what a run needs: health, usage, uploads, slots and verify. In a few places it breaks the contract, to
test that a run goes on.
"""

import hashlib
import json
import socket
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any
from urllib.parse import parse_qs, urlsplit

KEYED = frozenset({"usage", "uploads", "verify"})
KEY = "zz-made-up-for-another-partner"
_PARTS = 6
"""The number of parts of a correct form: five fields and the file."""
_PART_BYTES = 128 * 1024
_RESET = b"\x01\0\0\0\0\0\0\0"


@dataclass(frozen=True, slots=True)
class Answer:
    status: int = 200
    document: Any = b""  # the body, as JSON; bytes are sent as they are
    headers: dict[str, str] = field(default_factory=dict)
    # how it fails: the connection is reset, `unanswered`, `in_headers` or `in_body`; or it comes byte by byte, `slowly`
    # or `never`, though the connection stays open
    breaks: str = ""

    def bytes(self) -> bytes:
        return self.document if isinstance(self.document, bytes) else json.dumps(self.document).encode()


Change = Callable[[int, Answer], Answer]
"""Makes the answer to a call from the call's running number, from 0, and its usual answer."""


def answer_after(seconds: float) -> Change:
    """Return the usual answer, but so much later."""

    def wait(_number: int, usual: Answer) -> Answer:
        time.sleep(seconds)
        return usual

    return wait


@dataclass(frozen=True, slots=True)
class SentAnswer:
    """An answer that was sent: to which call, under which request ID, and when on the monotonic clock."""

    call: str
    request_id: str
    at: float
    status: int


@dataclass(slots=True)
class ForeignService:
    """The service, as a test controls it."""

    # by call (health, usage, uploads, slot, verify), what replaces its usual answer
    changes: dict[str, Change] = field(default_factory=dict)
    # by the sha256 of the stored audio; all other is `valid`, but a tenth of a second of silence is `unreadable`
    verdicts: dict[str, str] = field(default_factory=dict)
    keys: set[str] = field(default_factory=lambda: {KEY})  # the API keys that it accepts
    # the parts of every form that it received: disposition and content, in order
    forms: list[list[tuple[str, bytes]]] = field(default_factory=list)
    # headers with an API key that a slot received; there should be none
    keyed_at_storage: list[str] = field(default_factory=list)
    storage_rate: float | None = None  # bytes per second that each slot reads; None is without limit
    # so many next forms are answered 204 after their first 128 KiB, and the connection is closed
    taken_in_part: int = 0
    # connections are kept after an answer, and reset when the next call comes on one, as if its idle time ended then
    keeps_connections: bool = False
    sidecars: list[str | None] = field(default_factory=list)  # as they came, of each call to verify that was understood
    sent: list[SentAnswer] = field(default_factory=list)  # every answer of the API, oldest first
    received: Counter[str] = field(default_factory=Counter)  # the number of requests by call
    charged: int = 0  # the number of requests that the quota counts, whatever the answer
    _stored: dict[str, str] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _upload_numbers: "count[int]" = field(default_factory=lambda: count(10**15))
    _server: "_Server | None" = None
    _port: int = 0
    _closed: threading.Event = field(default_factory=threading.Event)

    def open(self) -> None:
        """Listen, on the same port each time."""
        self._closed.clear()
        self._server = _Server(("127.0.0.1", self._port), _Handler, self)
        self._port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def answer_late(self, seconds: float, calls: Iterable[str] = ("uploads", "verify")) -> None:
        """Give the usual answers of some calls, but so much later."""
        self.changes |= dict.fromkeys(calls, answer_after(seconds))

    def close(self) -> None:
        """Stop listening, and reset all connections."""
        self._closed.set()
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server.reset_connections()
            self._server = None

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._port}/partners/v1"

    def number(self, call: str) -> int:
        """Count a call; give its running number, from 0."""
        with self._lock:
            self.received[call] += 1
            return self.received[call] - 1

    def note(self, sent: SentAnswer) -> None:
        with self._lock:
            self.sent.append(sent)

    def waits(self, seconds: float | None = None) -> bool:
        """Wait, at most until the service is closed; say whether it is open."""
        return not self._closed.wait(seconds)

    def ids(
        self, since: float = 0.0, before: float = float("inf"), calls: Iterable[str] = KEYED | {"health"}
    ) -> set[str]:
        """Return the request IDs that were sent in an interval, for these calls."""
        with self._lock:
            return {one.request_id for one in self.sent if since <= one.at < before and one.call in calls}

    def answer(self, call: str, request: "_Handler") -> Answer:
        if call in KEYED:
            with self._lock:
                self.charged += 1
        if call not in {"health", "slot"} and request.headers.get("x-api-key") not in self.keys:
            return Answer(403, {"hint": "?", "code": "key_not_known_here", "error": "no"})
        if call not in KEYED | {"health", "slot"}:
            return Answer(404, {"error": "no such thing", "code": "nothing_here"})
        usual: Answer = getattr(self, f"_{call}")(request)
        number, change = self.number(call), self.changes.get(call)
        return change(number, usual) if change else usual

    def _health(self, _request: "_Handler") -> Answer:
        return Answer(document={"deployedAt": "2026-01-02T03:04:05Z", "uptime": [1], "ok": True, "commit": None})

    def _usage(self, request: "_Handler") -> Answer:
        days_text = parse_qs(urlsplit(request.path).query).get("days", ["30"])[0]
        days = int(days_text) if days_text.isdigit() else 0
        if not 1 <= days <= 90:
            return Answer(400, {"error": "days?", "code": "bad_window"})
        return Answer(document={"days": [{"date": 20260102, "used": "7"}] * days, "plan": {"quotaLimit": "many"}})

    def _uploads(self, request: "_Handler") -> Answer:
        assert parse_qs(urlsplit(request.path).query) == {"purpose": ["verify"]}
        upload = str(next(self._upload_numbers))  # two requests at once get two numbers
        fields = {
            "x:upload": upload,
            "": "",
            'Ünïcode " name': "värde\r\nmit Zeile",
            "file-name": "${filename}",
            "z": "",
        }
        url = f"http://localhost:{self._port}/bucket/a%2Fb?where={upload}&sig=a%2Bb%3D%3D&x=%C3%A9"
        return Answer(200, {"fields": fields, "expiresIn": 9, "url": url, "uploadId": upload})

    def _slot(self, request: "_Handler") -> Answer:
        self.keyed_at_storage += [name for name in request.headers if "api" in name.lower()]
        parts = request.form()
        if len(parts) != _PARTS or 'name="file"' not in parts[-1][0]:
            return Answer(400, b"<not-in-order/>")
        upload = parse_qs(urlsplit(request.path).query)["where"][0]
        with self._lock:
            self.forms.append(parts)
            self._stored[upload] = "" if _is_silence(parts[-1][1]) else hashlib.sha256(parts[-1][1]).hexdigest()
        return Answer(200, b"<stored/>")

    def _verify(self, request: "_Handler") -> Answer:
        try:
            body = json.loads(request.body)
            upload = body["uploadId"]
        except (ValueError, KeyError, TypeError):
            upload = None
        if not isinstance(upload, str):
            return Answer(400, {"error": "which upload?", "code": "bad_body"})
        self.sidecars.append(body.get("sidecar"))
        digest = self._stored.get(upload)
        if digest is None:
            return Answer(404, {"error": "gone", "code": "no_such_upload"})
        verdict = self.verdicts.get(digest, "valid") if digest else "unreadable"
        unknown = {"_": {"new": 1}, "song": 5, "issuedAt": "x"}
        return Answer(document={"verdict": verdict, **unknown, "good": verdict == "valid"})


def _is_silence(audio: bytes) -> bool:
    return len(audio) == 44 + 8_820 and not any(audio[44:])


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], handler: type["_Handler"], service: ForeignService) -> None:
        super().__init__(address, handler)
        self.service = service
        self._open: set[socket.socket] = set()

    def process_request(self, request: object, client_address: object) -> None:
        """Remember the connection, so that it can be reset."""
        assert isinstance(request, socket.socket)
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: object) -> None:
        assert isinstance(request, socket.socket)
        self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore a client that disconnected."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]  # as the base class has it

    def reset_connections(self) -> None:
        for connection in list(self._open):
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            connection.close()


class _Handler(BaseHTTPRequestHandler):
    """Answers one request for each connection, as HTTP/1.0 does, though it may keep it open."""

    body = b""
    server: _Server
    _is_kept = False  # this connection has had its answer

    def handle_one_request(self) -> None:
        """Answer one request, or reset the connection."""
        self.close_connection = True
        self.raw_requestline = self.rfile.readline(65_537)
        if not self.raw_requestline or not self.parse_request():
            return
        service = self.server.service
        if self._is_kept:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            return
        call = {"v1": "", "bucket": "slot"}.get(self.path.split("/")[1], "") or urlsplit(self.path).path.split("/")[-1]
        size = int(self.headers["Content-Length"] or 0)
        if call == "slot" and service.taken_in_part:
            service.taken_in_part -= 1
            self.rfile.read(_PART_BYTES)
            self._send(call, Answer(204))
        else:
            self.body = b"".join(self._pieces(size, service.storage_rate if call == "slot" else None))
            if len(self.body) == size:
                self._send(call, service.answer(call, self))
        self._is_kept = service.keeps_connections
        self.close_connection = not self._is_kept

    def _pieces(self, size: int, rate: float | None) -> Iterator[bytes]:
        """Read at some bytes per second, a tenth of a second's at once."""
        while size and (piece := self.rfile.read(size if rate is None else min(size, int(rate / 10)))):
            yield piece
            size -= len(piece)
            if rate is not None and size:
                time.sleep(0.1)

    def _send(self, call: str, answer: Answer) -> None:
        service = self.server.service
        request_id = f"{call}~{service.received[call]}~{time.monotonic_ns()}"
        own = "X-Storage-Trace" if call == "slot" else "x-AMZN-requestID"
        body = answer.bytes()
        connection = "keep-alive" if service.keeps_connections else "close"
        named = {own: request_id, "CONNECTION": connection, "content-LENGTH": str(len(body))} | answer.headers
        head = "".join(f"{name}:{text}\r\n" for name, text in named.items())
        whole = f"HTTP/1.1 {answer.status} Sö\r\n{head}\r\n".encode("latin-1")
        match answer.breaks:
            case "never":
                service.waits()
            case "slowly":
                all(self.wfile.write(bytes([byte])) and service.waits(0.1) for byte in whole + body)
            case "":
                self.wfile.write(whole + body)
                if call != "slot":
                    service.note(SentAnswer(call, request_id, time.monotonic(), answer.status))
            case where:
                sent = {"in_headers": whole[:30], "in_body": whole + body[: len(body) // 2]}
                self.wfile.write(sent.get(where, b""))
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)

    def form(self) -> list[tuple[str, bytes]]:
        """Split a form into its parts: disposition and content."""
        boundary = self.headers["content-type"].partition("boundary=")[2].encode()
        parts = (b"\r\n" + self.body).split(b"\r\n--" + boundary)[1:-1]
        heads = (part.removeprefix(b"\r\n").partition(b"\r\n\r\n") for part in parts)
        return [(head.decode(), content) for head, _, content in heads]
