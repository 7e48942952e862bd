"""A partner made of bytes: a real socket on loopback that sends the answers that a test wrote."""

import socket
import socketserver
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import BinaryIO

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from proofsweep.client.client import Partner
from proofsweep.client.keys import CurrentKey, key_file
from proofsweep.client.session import ClientContext, Session
from proofsweep.client.transport import Transport
from proofsweep.config.proxies import Proxies
from proofsweep.config.sections import RetrySettings, ServiceSettings, TimeoutSettings
from proofsweep.config.threads import StopSwitch
from proofsweep.domain.exchanges import Exchange
from proofsweep.domain.models import UploadResponse
from proofsweep.pacing.call_queue import CallQueue
from proofsweep.pacing.pacer import Pacer
from proofsweep.pacing.scheduler import Scheduler

NewClient = Callable[..., "Client"]
Write = Callable[..., bytes]
KEY = "pk_SECRET_of_this_test"


@dataclass(frozen=True, slots=True)
class Received:
    """One request as it came over the wire; header names are lowercase."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes


@dataclass(slots=True)
class ScriptedServer:
    """Answers each request with the next of its scripted bytes, and keeps the requests."""

    url: str
    script: list[bytes | Iterator[bytes]] = field(default_factory=list)  # the answers, whole or in pieces
    received: list[Received] = field(default_factory=list)
    reads_bodies: bool = True  # before the answer goes out
    resets: bool = False  # instead of closing, after the answer
    keeps_open: bool = False  # after an answer
    sent_bytes: int = 0  # of answers, as far as the client read them
    before_answering: Callable[["Received"], object] = lambda _request: None

    def targets(self) -> list[str]:
        return [f"{request.method} {request.target}" for request in self.received]

    def serve(self, connection: socket.socket, file: BinaryIO) -> None:
        request = _read_request(file, reads_body=self.reads_bodies)
        self.received.append(request)
        self.before_answering(request)
        self._send(connection, self.script.pop(0) if self.script else b"")
        if self.resets:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")

    def _send(self, connection: socket.socket, answer: bytes | Iterator[bytes]) -> None:
        with suppress(OSError):  # the client may have closed
            for piece in (answer,) if isinstance(answer, bytes) else answer:
                connection.sendall(piece)
                self.sent_bytes += len(piece)


def _read_request(file: BinaryIO, *, reads_body: bool) -> Received:
    method, target, _ = file.readline().decode().split(" ")
    headers: dict[str, str] = {}
    while line := file.readline().decode("latin-1").strip():
        name, _, text = line.partition(":")
        headers[name.lower()] = text.strip()
    body = file.read(int(headers.get("content-length", "0"))) if reads_body else b""
    return Received(method, target, headers, body)


@pytest.fixture
def new_server() -> Iterator[Callable[..., ScriptedServer]]:
    """Start servers, each an origin of its own, with TLS where a context is given, and stop them at the end."""
    running: list[socketserver.ThreadingTCPServer] = []

    def start(tls: ssl.SSLContext | None = None) -> ScriptedServer:
        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                script.serve(self.connection, self.rfile)
                with suppress(ConnectionResetError):
                    while script.keeps_open and self.rfile.peek(1):
                        script.serve(self.connection, self.rfile)

        server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        if tls is not None:
            server.socket = tls.wrap_socket(server.socket, server_side=True)
        script = ScriptedServer(f"http{'' if tls is None else 's'}://127.0.0.1:{server.server_address[1]}")
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        running.append(server)
        return script

    yield start
    for server in running:
        server.shutdown()
        server.server_close()


@pytest.fixture
def api(new_server: Callable[[], ScriptedServer]) -> ScriptedServer:
    """Return the partner's API, whose base URL is its `url` and then `/v1`."""
    return new_server()


@pytest.fixture
def safe_api(new_server: Callable[..., ScriptedServer], certificate: Path) -> ScriptedServer:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate)
    return new_server(tls)


@pytest.fixture
def storage(new_server: Callable[[], ScriptedServer]) -> ScriptedServer:
    return new_server()


@pytest.fixture
def key_path(tmp_path: Path) -> Path:
    path = tmp_path / "key"
    path.write_text(f"{KEY}\n")
    return path


@dataclass(slots=True)
class Client:
    partner: Partner
    stop: StopSwitch
    scheduler: Scheduler
    exchanges: list[Exchange]

    def facts(self) -> list[tuple[str, int | None, str | None]]:
        """Return call, status and failure of each recorded exchange."""
        return [(str(x.call), x.status, None if x.failure is None else str(x.failure)) for x in self.exchanges]


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for 127.0.0.1 that nobody but this test trusts, and its key, in one file."""
    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "h")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .sign(key, hashes.SHA256())
    )
    form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    path = tmp_path_factory.mktemp("tls") / "certificate.pem"
    path.write_bytes(made.public_bytes(serialization.Encoding.PEM) + key.private_bytes(*form))
    return path


@pytest.fixture(scope="session")
def tls() -> ssl.SSLContext:
    """Return a context made once: reading the certificates takes longer than any test here."""
    return ssl.create_default_context()


@pytest.fixture(scope="session")
def unchecked() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


@pytest.fixture
def environment() -> dict[str, str]:
    return {}


@pytest.fixture
def proxies(environment: dict[str, str]) -> Proxies:
    return Proxies(environment)


@pytest.fixture
def new_transport(proxies: Proxies) -> Iterator[Callable[..., Transport]]:
    """Make transports, and close them at the end."""
    made: list[Transport] = []

    def make(tls: ssl.SSLContext, read_seconds: float = 5.0) -> Transport:
        timeouts = TimeoutSettings(read_seconds=read_seconds)
        made.append(Transport(timeouts, user_agent="proofsweep/0.0", proxies=proxies, tls=tls))
        return made[-1]

    yield make
    for transport in made:
        transport.close()


@pytest.fixture
def transport(new_transport: Callable[..., Transport], tls: ssl.SSLContext) -> Transport:
    return new_transport(tls)


@pytest.fixture
def new_client(api: ScriptedServer, key_path: Path, transport: Transport) -> NewClient:
    """Make clients of the API that wait almost no time between attempts."""

    def make(*, sidecar_field: str | None = "mark", attempts: int = 3, base_url: str | None = None) -> Client:
        stop, exchanges = StopSwitch(), list[Exchange]()
        scheduler = Scheduler(CallQueue(Pacer(first_rate=1e4)), stop)
        context = ClientContext(
            service=ServiceSettings(
                base_url=base_url or f"{api.url}/v1", environment="test", sidecar_field=sidecar_field
            ),
            transport=transport,
            scheduler=scheduler,
            key=CurrentKey(key_file(key_path)),
            record_unattributed=lambda _exchange: None,
        )
        retry = RetrySettings(attempts=attempts, longest_wait_seconds=0.002)
        partner = Partner(Session(context, exchanges.append, retry))
        return Client(partner, stop, scheduler, exchanges)

    return make


@pytest.fixture
def client(new_client: NewClient) -> Client:
    return new_client()


AUDIO = (b"RIFF....WAVE\r\n--", b"more\r\n")
"""Two pieces of audio, which look like parts of a form."""
AUDIO_BYTES = sum(map(len, AUDIO))


@pytest.fixture
def slot(storage: ScriptedServer) -> UploadResponse:
    fields = {"key": "incoming/u-1", "policy": "SECRET==", "Content-Type": "audio/wav", "acl": "private"}
    document = {"uploadId": "u-1", "url": f"{storage.url}/bucket?sig=SECRET", "fields": fields}
    return UploadResponse.model_validate(document)


@pytest.fixture
def answer() -> Write:
    """Write answers: a status, a body, and headers whose names are given like Python arguments."""

    def write(status: int = 200, body: bytes = b"{}", **headers: str) -> bytes:
        named = {"x-request-id": "rid-1", "content-length": str(len(body))}
        named |= {name.replace("_", "-"): text for name, text in headers.items()}
        lines = [
            f"HTTP/1.1 {status} Whatever",
            "connection: close",
            *(f"{name}: {text}" for name, text in named.items()),
        ]
        return "\r\n".join(lines).encode() + b"\r\n\r\n" + body

    return write
