"""Serve a partner service that only reads and answers. It checks no key, no form and no proof.

It accepts all but audio of the probe's size, which a leg sends after a hundred acceptances without a refusal.

A client's CPU is measured best against a service that uses almost none. It has one process and one event loop, and it
counts and drops bodies. `launched` starts it in a child process. To run it by hand: `python -m
benchmarks.null_service`.
"""

import argparse
import asyncio
import json
import os
import random
import re
import ssl
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_HOST = "127.0.0.1"
_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
# One read takes at most this much.
_DROPPED = memoryview(bytearray(1024 * 1024))
_USAGE_HEADERS = "X-RateLimit-Limit: 100000000\r\nX-RateLimit-Remaining: 99999999\r\nX-RateLimit-Reset: 1893456000\r\n"
# A form with the probe audio: 8,864 bytes, and at most so many around them. No file of a benchmark is of this size.
_PROBE_FORM_BYTES = range(8_864, 8_864 + 4_096)
_FIELDS = {
    "key": "uploads/0000000000000000.wav",
    "policy": "eyJleHBpcmF0aW9uIjoiMjAzMC0wMS0wMVQwMDowMDowMFoifQ" * 8,
    "x-amz-algorithm": "AWS4-HMAC-SHA256",
    "x-amz-credential": "NULL/20300101/null/s3/aws4_request",
    "x-amz-date": "20300101T000000Z",
    "x-amz-signature": "0" * 64,
}
_VERDICT = {
    "good": True,
    "verdict": "valid",
    "proofId": "0" * 26,
    "song": "A Song",
    "classification": "human",
    "grade": {"human": 0.97, "ai": 0.01, "unknown": 0.02, "riskCategory": "low", "rubricVersion": "1"},
    "issuedAt": 1_767_225_600,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A null service in a child process.

    Attributes:
        base_url: ends in `/v1`.
        trust: the certificate file for SSL_CERT_FILE; None without TLS.
    """

    base_url: str
    trust: Path | None
    _send_line: Callable[[str], None]
    _read_line: Callable[[], str]

    @property
    def environment(self) -> dict[str, str]:
        """The variables that make a client trust the service's certificate."""
        return {} if self.trust is None else {"SSL_CERT_FILE": str(self.trust)}

    def watch(self, pid: int) -> None:
        """Reset the counts; the next client is this process."""
        self._send_line(str(pid))

    def counts(self) -> dict[str, float]:
        """Return the number of requests by path since `watch`, and the time of the first form.

        `first_slot` is in seconds of the monotonic clock. `cpu_then` is the CPU seconds that the watched process had
        used at that time.
        """
        self._send_line("")
        counts: dict[str, float] = json.loads(self._read_line())
        return counts


@contextmanager
def launched(folder: Path, *, tls: bool = False, note_letters: int = 0) -> Iterator[Running]:
    """Serve on a free port until the block ends; the certificate stays in the folder.

    Each answer of `POST /verify` has a process note so long.
    """
    certificate = _certificate_in(folder) if tls else None
    command = [sys.executable, "-m", "benchmarks.null_service", "--note-letters", str(note_letters)]
    command += ["--certificate", str(certificate)] if tls else []
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        to, back = process.stdin, process.stdout
        if to is None or back is None:
            raise AssertionError
        try:
            yield Running(
                base_url=back.readline().strip(),
                trust=certificate,
                _send_line=lambda line: print(line, file=to, flush=True),
                _read_line=back.readline,
            )
        finally:
            to.close()  # the service ends when its standard input closes


def cpu_seconds_of(pid: int) -> float:
    """Return the CPU seconds that a running process has used so far (Linux)."""
    user, system = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / _TICKS_PER_SECOND


class _Service:
    """Answers that are prepared once, and counts of the requests."""

    def __init__(self, origin: str, note_letters: int) -> None:
        self.watch(0)
        note = random.Random(1).randbytes(note_letters // 2).hex()  # hardly compresses
        slot = {"uploadId": "0" * 32, "url": f"{origin}/slot", "fields": _FIELDS}
        self._answers = {
            "/v1/health": _answer({"ok": True, "version": "null", "commit": "0", "deployedAt": 1_767_225_600}),
            "/v1/partner/usage": _answer({"plan": {"quotaLimit": 10**8, "quotaPeriod": "month"}}, _USAGE_HEADERS),
            "/v1/uploads": _answer(slot),
            "/v1/verify": _answer(_VERDICT | ({"interpretation": {"text": note}} if note else {})),
            "/slot": _answer(None),
            "probe": _answer({"good": False, "verdict": "unreadable"}),
        }
        self._not_found = _answer({"error": "There is no such path.", "code": "not_found"}, status="404 Not Found")

    def watch(self, pid: int) -> None:
        self._pid = pid
        self._counts: Counter[str] = Counter()
        self._first_slot = self._cpu_then = 0.0

    def begin(self, path: str) -> None:
        self._counts[path] += 1
        if path == "/slot" and not self._first_slot:
            self._first_slot = time.monotonic()
            self._cpu_then = cpu_seconds_of(self._pid) if self._pid else 0.0

    def answer(self, path: str, *, is_probe: bool) -> bytes:
        known = "probe" if is_probe and path == "/v1/verify" else path
        head, rest = self._answers.get(known, self._not_found)
        return b"%s%032x%s" % (head, self._counts[path], rest)

    def report(self) -> str:
        return json.dumps(dict(self._counts) | {"first_slot": self._first_slot, "cpu_then": self._cpu_then})


class _Connection(asyncio.BufferedProtocol):
    """Read one request after another; count and drop their bodies."""

    def __init__(self, service: _Service) -> None:
        self._service = service
        self._head = b""
        self._path = ""
        self._left = 0
        self._is_probe = False  # the last form had the probe audio; the same client asks for its verdict here

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if not isinstance(transport, asyncio.Transport):
            raise TypeError
        self._transport = transport

    def get_buffer(self, _sizehint: int) -> memoryview:
        return _DROPPED

    def buffer_updated(self, count: int) -> None:
        if self._path:
            self._left -= count
        else:
            self._head += bytes(_DROPPED[:count])
            if not self._begin():
                return
        if self._left <= 0:
            path, self._path = self._path, ""
            self._transport.write(self._service.answer(path, is_probe=self._is_probe))

    def _begin(self) -> bool:
        """Read a request's head if it is complete; no client here sends a request before it has the last answer."""
        head, end, body = self._head.partition(b"\r\n\r\n")
        if end:
            length = _LENGTH.search(head)
            body_bytes = int(length[1]) if length else 0
            self._head, self._left = b"", body_bytes - len(body)
            self._path = head.split(b" ", 2)[1].partition(b"?")[0].decode("latin-1")
            if self._path == "/slot":
                self._is_probe = body_bytes in _PROBE_FORM_BYTES
            self._service.begin(self._path)
        return bool(end)


def _answer(document: object, headers: str = "", status: str = "200 OK") -> tuple[bytes, bytes]:
    """Make an answer in two parts; the request ID goes between them."""
    body = b"" if document is None else json.dumps(document).encode()
    kind = "HTTP/1.1 204 No Content\r\n" if document is None else f"HTTP/1.1 {status}\r\n"
    head = f"{kind}Date: Tue, 01 Jan 2030 00:00:00 GMT\r\nContent-Type: application/json\r\n{headers}X-Request-Id: "
    length = "" if document is None else f"Content-Length: {len(body)}\r\n"
    return head.encode(), f"\r\n{length}\r\n".encode() + body


def _certificate_in(folder: Path) -> Path:
    """Make a self-signed certificate, with its key in the same file."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, _HOST)])
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    builder = builder.not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    builder = builder.add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address(_HOST))]), critical=False)
    pem = serialization.Encoding.PEM
    path = folder / "certificate.pem"
    path.write_bytes(
        builder.sign(key, hashes.SHA256()).public_bytes(pem)
        + key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return path


async def _serve(certificate: Path | None, note_letters: int) -> None:
    tls = None
    if certificate is not None:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(certificate)
    services: list[_Service] = []
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: _Connection(services[0]), _HOST, 0, ssl=tls, backlog=512)
    origin = f"{'http' if tls is None else 'https'}://{_HOST}:{server.sockets[0].getsockname()[1]}"
    services.append(_Service(origin, note_letters))
    print(f"{origin}/v1", flush=True)
    threading.Thread(target=_report_on_demand, args=(services[0],), daemon=True).start()
    await server.serve_forever()


def _report_on_demand(service: _Service) -> None:
    """Obey standard input: a number is a process to watch, an empty line requests a report, the end stops us."""
    for line in sys.stdin:
        if line.strip():
            service.watch(int(line))
        else:
            print(service.report(), flush=True)
    os._exit(0)


def main() -> None:
    """Serve until standard input closes; the first line printed is the base URL."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--certificate", type=Path, help="a PEM file with certificate and key, for TLS")
    parser.add_argument("--note-letters", type=int, default=0, help="how long the process note of each answer is")
    chosen = parser.parse_args()
    asyncio.run(_serve(chosen.certificate, chosen.note_letters))


if __name__ == "__main__":
    main()
