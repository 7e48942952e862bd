"""Another partner than the sandbox: written from the contract alone, and contrary wherever the contract is silent.

It serves what a run needs: health, usage, uploads, slots and verify. In a few places it even breaks the contract, to
see that a run goes on; `test_foreign_contract.py` lists them.
"""

import hashlib
import json
import socket
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from urllib.parse import parse_qs, urlsplit

KEYED = frozenset({"usage", "uploads", "verify"})
KEY = "zz-made-up-for-another-partner"
_PARTS = 6
"""Of a form that is in order: five fields and the file."""
_RESET = b"\x01\0\0\0\0\0\0\0"


@dataclass(frozen=True, slots=True)
class Says:
    """One answer.

    Attributes:
        document: the body, as JSON; bytes are sent as they are.
        breaks: where the connection is reset instead: `unanswered`, `in_headers` or `in_body`.
    """

    status: int = 200
    document: object = b""
    headers: dict[str, str] = field(default_factory=dict)
    breaks: str = ""

    def bytes(self) -> bytes:
        """Give the body."""
        return self.document if isinstance(self.document, bytes) else json.dumps(self.document).encode()


Twist = Callable[[int, Says], Says]
"""Changes the usual answer of a call; is told the running number of the call, from 0."""


@dataclass(frozen=True, slots=True)
class Given:
    """One answer that went out: for which call, under which request ID, when, and for which upload."""

    call: str
    request_id: str
    at: float
    status: int


@dataclass(slots=True)
class Foreign:
    """The service as its tests see it.

    Attributes:
        twists: what is changed, by call: health, usage, uploads, slot, verify.
        verdicts: what is answered, by the sha256 of the stored audio; `valid` where nothing else is said.
        keys: those that are taken.
        forms: the parts of every form that was received: disposition and content, in order.
        keyed_at_storage: headers that should never have come there.
        front: where its slots are said to be; itself where nothing else is said.
        storage_rate: bytes per second that each slot takes; None takes them as they come.
    """

    twists: dict[str, Twist] = field(default_factory=dict)
    verdicts: dict[str, str] = field(default_factory=dict)
    keys: set[str] = field(default_factory=lambda: {KEY})
    forms: list[list[tuple[str, bytes]]] = field(default_factory=list)
    keyed_at_storage: list[str] = field(default_factory=list)
    storage_rate: float | None = None
    given: list[Given] = field(default_factory=list)
    asked: Counter[str] = field(default_factory=Counter)
    charged: int = 0
    front: str = ""
    _stored: dict[str, str] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _uploads_given: "count[int]" = field(default_factory=lambda: count(10**15))
    _server: "_Server | None" = None
    _port: int = 0

    def open(self) -> None:
        """Listen, on the same port as before."""
        self._server = _Server(("127.0.0.1", self._port), _Desk, self)
        self._port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def shut(self) -> None:
        """Vanish, with all connections."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server.hang_up()
            self._server = None

    @property
    def base_url(self) -> str:
        """Where the API is, under a path of its own."""
        return f"http://127.0.0.1:{self._port}/partners/v1"

    def says(self, status: int = 200, document: object = b"", **facts: object) -> Says:
        """Make an answer."""
        return Says(status, document, **facts)  # type: ignore[arg-type]  # what a test gives is what it gets

    def number(self, call: str) -> int:
        """Count a call; give its running number."""
        with self._lock:
            self.asked[call] += 1
            return self.asked[call] - 1

    def note(self, given: Given) -> None:
        """Keep what went out."""
        with self._lock:
            self.given.append(given)

    def ids(
        self, since: float = 0.0, before: float = float("inf"), calls: Iterable[str] = KEYED | {"health"}
    ) -> set[str]:
        """Give the request IDs that went out meanwhile, for these calls."""
        with self._lock:
            return {one.request_id for one in self.given if since <= one.at < before and one.call in calls}

    def answer(self, call: str, asker: "_Desk") -> Says:
        """Give the answer to a call."""
        if call in KEYED:
            with self._lock:
                self.charged += 1
        if call not in {"health", "slot"} and asker.headers.get("x-api-key") not in self.keys:
            return Says(403, {"hint": "?", "code": "key_not_known_here", "error": "no"})
        if call not in KEYED | {"health", "slot"}:
            return Says(404, {"error": "no such thing", "code": "nothing_here"})
        usual: Says = getattr(self, f"_{call}")(asker)
        return self.twists.get(call, lambda _number, answer: answer)(self.number(call), usual)

    def _health(self, _asker: "_Desk") -> Says:
        return Says(document={"deployedAt": "2026-01-02T03:04:05Z", "uptime": [1], "ok": False, "commit": None})

    def _usage(self, asker: "_Desk") -> Says:
        asked = parse_qs(urlsplit(asker.path).query).get("days", ["30"])[0]
        days = int(asked) if asked.isdigit() else 0
        if not 1 <= days <= 90:
            return Says(400, {"error": "days?", "code": "bad_window"})
        return Says(document={"days": [{"date": 20260102, "used": "7"}] * days, "plan": {"quotaLimit": "many"}})

    def _uploads(self, asker: "_Desk") -> Says:
        assert parse_qs(urlsplit(asker.path).query) == {"purpose": ["verify"]}
        upload = str(next(self._uploads_given))  # two that ask at once get two
        fields = {
            "x:upload": upload,
            "": "",
            'Ünïcode " name': "värde\r\nmit Zeile",
            "file-name": "${filename}",
            "z": "",
        }
        front = self.front or f"http://localhost:{self._port}"
        url = f"{front}/bucket/a%2Fb?where={upload}&sig=a%2Bb%3D%3D&x=%C3%A9"
        return Says(200, {"fields": fields, "expiresIn": 9, "url": url, "uploadId": upload})

    def _slot(self, asker: "_Desk") -> Says:
        self.keyed_at_storage += [name for name in asker.headers if "api" in name.lower()]
        parts = asker.form()
        if len(parts) != _PARTS or 'name="file"' not in parts[-1][0]:
            return Says(400, b"<not-in-order/>")
        upload = parse_qs(urlsplit(asker.path).query)["where"][0]
        with self._lock:
            self.forms.append(parts)
            self._stored[upload] = hashlib.sha256(parts[-1][1]).hexdigest()
        return Says(200, b"<stored/>")

    def _verify(self, asker: "_Desk") -> Says:
        try:
            upload = json.loads(asker.body)["uploadId"]
        except (ValueError, KeyError):
            upload = None
        if not isinstance(upload, str):
            return Says(400, {"error": "which upload?", "code": "bad_body"})
        digest = self._stored.get(upload)
        if digest is None:
            return Says(404, {"error": "gone", "code": "no_such_upload"})
        verdict = self.verdicts.get(digest, "valid")
        unknown = {"_": {"new": 1}, "song": 5, "issuedAt": "x"}
        return Says(document={"verdict": verdict, **unknown, "good": verdict == "valid"})


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], desk: type["_Desk"], service: Foreign) -> None:
        super().__init__(address, desk)
        self.service = service
        self._open: set[socket.socket] = set()

    def process_request(self, request: object, client_address: object) -> None:
        """Remember the connection, to be able to hang up."""
        assert isinstance(request, socket.socket)
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: object) -> None:
        """Forget it."""
        assert isinstance(request, socket.socket)
        self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of an asker that went away."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]  # as the base class has it

    def hang_up(self) -> None:
        """Reset every connection."""
        for connection in list(self._open):
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            connection.close()


class _Desk(BaseHTTPRequestHandler):
    """Takes a request, and answers it in the manner of HTTP/1.0: one connection for each."""

    body = b""
    server: _Server

    def handle_one_request(self) -> None:
        """Answer one request, or break off."""
        self.raw_requestline = self.rfile.readline(65_537)
        if not self.raw_requestline or not self.parse_request():
            return
        service = self.server.service
        call = {"v1": "", "bucket": "slot"}.get(self.path.split("/")[1], "") or urlsplit(self.path).path.split("/")[-1]
        size = int(self.headers["Content-Length"] or 0)
        self.body = self._slowly(size) if call == "slot" else self.rfile.read(size)
        if len(self.body) == size:
            self._send(call, service.answer(call, self))
        self.close_connection = True

    def _slowly(self, size: int) -> bytes:
        """Read at the storage's pace, a tenth of a second's worth at once."""
        body = bytearray()
        while len(body) < size:
            rate = self.server.service.storage_rate
            at_once = size if rate is None else int(rate / 10)
            piece = self.rfile.read(min(at_once, size - len(body)))
            if not piece:
                break
            body += piece
            if rate is not None and len(body) < size:
                time.sleep(0.1)
        return bytes(body)

    def _send(self, call: str, says: Says) -> None:
        service = self.server.service
        request_id = f"{call}~{service.asked[call]}~{time.monotonic_ns()}"
        own = "X-Storage-Trace" if call == "slot" else "x-AMZN-requestID"
        body = says.bytes()
        named = {own: request_id, "CONNECTION": "close", "content-LENGTH": str(len(body))} | says.headers
        head = "".join(f"{name}:{text}\r\n" for name, text in named.items())
        whole = f"HTTP/1.1 {says.status} Sö\r\n{head}\r\n".encode("latin-1")
        if says.breaks:
            self._break_off({"in_headers": whole[:30], "in_body": whole + body[: len(body) // 2]}.get(says.breaks, b""))
            return
        self.wfile.write(whole + body)
        if call != "slot":
            service.note(Given(call, request_id, time.monotonic(), says.status))

    def _break_off(self, sent: bytes) -> None:
        self.wfile.write(sent)
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)

    def form(self) -> list[tuple[str, bytes]]:
        """Take a form apart, by hand."""
        boundary = self.headers["content-type"].partition("boundary=")[2].encode()
        parts = (b"\r\n" + self.body).split(b"\r\n--" + boundary)[1:-1]
        heads = (part.removeprefix(b"\r\n").partition(b"\r\n\r\n") for part in parts)
        return [(head.decode(), content) for head, _, content in heads]
