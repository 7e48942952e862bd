"""When a leg may not wait any longer, whoever sends or waits for an answer comes back at once."""

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from proofsweep.client.messages import Request
from proofsweep.client.transport import Timeouts, Transport
from proofsweep.domain.exchanges import Call, Exchange

LARGE = 64 * 1024 * 1024


@pytest.fixture(scope="module")
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


class Deaf:
    """Accepts connections, shakes hands where that is due, and then reads and says nothing."""

    def __init__(self, tls: ssl.SSLContext | None) -> None:
        self._tls = tls
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self.taken: list[socket.socket] = []
        self.has_one = threading.Event()
        threading.Thread(target=self._take, daemon=True).start()

    def _take(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listening.accept()
                if self._tls is not None:
                    connection = self._tls.wrap_socket(connection, server_side=True)
                self.taken.append(connection)
                self.has_one.set()

    def close(self) -> None:
        """Hang up."""
        self._listening.close()
        for connection in self.taken:
            connection.close()


@pytest.fixture(params=["http", "https"])
def deaf(request: pytest.FixtureRequest, certificate: Path) -> Iterator[tuple[Deaf, str]]:
    """Give such a server, and its URL."""
    tls = None
    if request.param == "https":
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(certificate)
    server = Deaf(tls)
    yield server, f"{request.param}://127.0.0.1:{server.port}/v1"
    server.close()


@pytest.mark.parametrize("size_bytes", [0, LARGE])
def test_who_waits_comes_back(deaf: tuple[Deaf, str], size_bytes: int) -> None:
    """For an answer, or for the other side to take more; what is begun later fails before it is sent."""
    unchecked = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    unchecked.check_hostname, unchecked.verify_mode = False, ssl.CERT_NONE
    timeouts = Timeouts(read_seconds=600.0, write_seconds=600.0, total_seconds=600.0)
    transport = Transport(user_agent="proofsweep/0.0", timeouts=timeouts, tls=unchecked)
    content = (bytes(1024 * 1024) for _ in range(size_bytes // (1024 * 1024)))
    request = Request(call=Call.SLOT, method="POST", url=deaf[1], content=content, content_bytes=size_bytes)
    ended: list[Exchange] = []

    def send() -> None:
        ended.append(transport.send(request, attempt=1, key=None).exchange)

    waiting = threading.Thread(target=send, daemon=True)
    waiting.start()
    assert deaf[0].has_one.wait(30.0)
    transport.abort()
    waiting.join(30.0)
    send()
    transport.close()

    assert [(exchange.status, exchange.failure) for exchange in ended] == [(None, "connection")] * 2
