"""An answer ends in time and follows its request; failures have a cause."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import httpx
import pytest

from proofsweep.client.reply import Reply, Request, cause_of
from proofsweep.client.transport import Transport
from proofsweep.config.proxies import Proxies
from proofsweep.config.sections import TimeoutSettings
from proofsweep.domain.exchanges import Call, Exchange

if TYPE_CHECKING:
    from .conftest import ScriptedServer

Send = Callable[[], Reply]
ANSWER_SECONDS = 0.6
LARGE_BYTES = 64 * 1024 * 1024
OPENING = b"HTTP/1.1 200 OK\r\nx-request-id: rid-1\r\n"
CHUNKED = OPENING + b"transfer-encoding: chunked\r\n\r\n"
VALID = b'{"good": true, "verdict": "valid"}'
WHOLE = OPENING + b"content-length: 34\r\n\r\n" + VALID


def request_for(server: ScriptedServer) -> Request:
    return Request(call=Call.VERIFY, method="POST", url=f"{server.url}/v1/verify")


@pytest.fixture
def impatient(tls: ssl.SSLContext) -> Iterator[Transport]:
    """Yield a transport that waits briefly for the whole answer, and half as long for each read."""
    transport = Transport(
        TimeoutSettings(read_seconds=ANSWER_SECONDS / 2), user_agent="proofsweep/0.0", proxies=Proxies({}), tls=tls
    )
    yield transport
    transport.close()


def trickle(beginning: bytes, piece: bytes) -> Iterator[bytes]:
    """Send a beginning, and then something small again and again, often enough for a limit on each read."""
    yield beginning
    while True:
        time.sleep(ANSWER_SECONDS / 20)
        yield piece


ENDLESS = {
    "a status line": (b"HTTP/1.1 200 ", b"O"),
    "a header": (OPENING + b"x-more: ", b"y"),
    "continuations": (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "early hints": (b"", b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n"),
    "a body": (OPENING + b"content-length: 100000\r\n\r\n", b" "),
    "a body without a length": (OPENING + b"\r\n", b" "),
    "a chunk's size": (CHUNKED + b"5;", b"x"),
    "trailers": (CHUNKED + b"22\r\n" + VALID + b"\r\n0\r\nx-more: ", b"y"),
}


@pytest.mark.parametrize("kind", ENDLESS)
def test_an_answer_that_trickles_is_a_timeout(api: ScriptedServer, impatient: Transport, kind: str) -> None:
    """Its whole time is limited, headers and interim answers included."""
    api.script = [trickle(*ENDLESS[kind])]

    reply = impatient.send(request_for(api), attempt=1, key=None)

    assert (reply.exchange.failure, reply.document) == ("timeout", None)
    assert reply.exchange.elapsed_ms >= ANSWER_SECONDS * 1000


def test_the_time_for_an_answer_begins_when_all_is_sent(api: ScriptedServer, impatient: Transport) -> None:
    """A large body takes long on a slow network."""

    def slowly() -> Iterator[bytes]:
        for _ in range(4):
            time.sleep(ANSWER_SECONDS / 2)
            yield b"0123456789"

    api.script = [WHOLE]
    request = Request(call=Call.VERIFY, method="POST", url=f"{api.url}/v1/verify", content=slowly(), content_bytes=40)

    reply = impatient.send(request, attempt=1, key=None)

    assert reply.document == {"good": True, "verdict": "valid"}
    assert reply.exchange.elapsed_ms > ANSWER_SECONDS * 1000


def test_a_large_body_has_more_time(api: ScriptedServer, impatient: Transport) -> None:
    """As much as it takes at half a Mbit per second: an asset of 65 MiB may come over a slow network."""
    body = bytes(64 * 1024)
    pieces = [body[at : at + 8192] for at in range(0, len(body), 8192)]

    def slowly() -> Iterator[bytes]:
        yield OPENING + b"content-length: %d\r\n\r\n" % len(body)
        for piece in pieces:
            time.sleep(ANSWER_SECONDS / 6)
            yield piece

    taken: list[bytes] = []
    request = Request(call=Call.DOWNLOAD, method="GET", url=f"{api.url}/a", into=taken.extend)
    api.script = [slowly()]

    reply = impatient.send(request, attempt=1, key=None)

    assert (reply.exchange.failure, b"".join(taken)) == (None, body)
    assert reply.exchange.elapsed_ms > ANSWER_SECONDS * 1000


@pytest.fixture
def send(api: ScriptedServer, transport: Transport) -> Send:
    return lambda: transport.send(request_for(api), attempt=1, key=None)


def test_an_answer_that_came_before_its_request_is_refused(api: ScriptedServer, send: Send) -> None:
    """A gateway that sends an answer twice would give each later item the verdict of the one before it."""
    api.script, api.keeps_open = [WHOLE + WHOLE, WHOLE, WHOLE], True  # the second request may or may not be sent

    first, second, third = send(), send(), send()

    assert first.exchange.is_success
    assert (second.exchange.failure, second.exchange.request_id, second.document) == ("connection", None, None)
    assert third.exchange.is_success


@pytest.mark.parametrize("size_bytes", [0, LARGE_BYTES])
@pytest.mark.parametrize("kind", ["api", "safe_api"])
def test_an_aborted_exchange_ends_at_once(
    request: pytest.FixtureRequest, unchecked: ssl.SSLContext, kind: str, size_bytes: int
) -> None:
    """Whether it waits for an answer, or for the server to read; a later one fails before it is sent."""
    server, has_one, over = request.getfixturevalue(kind), threading.Event(), threading.Event()
    server.reads_bodies = False
    server.before_answering = lambda _request: (has_one.set(), over.wait(30.0))
    transport = Transport(
        TimeoutSettings(read_seconds=600.0), user_agent="proofsweep/0.0", proxies=Proxies({}), tls=unchecked
    )
    content = (bytes(1024 * 1024) for _ in range(size_bytes // (1024 * 1024)))
    upload = Request(call=Call.SLOT, method="POST", url=server.url, content=content, content_bytes=size_bytes)
    ended: list[Exchange] = []

    def send() -> None:
        ended.append(transport.send(upload, attempt=1, key=None).exchange)

    waiting = threading.Thread(target=send, daemon=True)
    waiting.start()
    assert has_one.wait(30.0)
    transport.abort()
    waiting.join(30.0)
    send()
    transport.close()
    over.set()

    assert [(exchange.status, exchange.failure) for exchange in ended] == [(None, "connection")] * 2


def test_user_and_password_go_to_the_proxy_alone(
    api: ScriptedServer, storage: ScriptedServer, transport: Transport, environment: dict[str, str]
) -> None:
    """They are a header for it, and no part of an address; a host without a proxy is not told them."""
    environment["http_proxy"] = api.url.replace("://", "://me:p%40ss@")
    api.script, storage.script = [WHOLE], [WHOLE]
    urls = ("http://partner.invalid/v1/health", storage.url)

    for url in urls:
        transport.send(Request(call=Call.HEALTH, method="GET", url=url), attempt=1, key=None)

    assert [request.headers.get("proxy-authorization") for request in api.received] == ["Basic bWU6cEBzcw=="]
    assert api.targets() == ["GET http://partner.invalid/v1/health"]
    assert ["proxy-authorization" in request.headers for request in storage.received] == [False]


def raised_from(cause: BaseException) -> httpx.ConnectError:
    """Wrap an error of the system as the libraries do: one raise after the other."""
    try:
        try:
            raise cause
        except OSError as below:
            raise RuntimeError("https://slot.example/?sig=SECRET") from below
    except RuntimeError as error:
        outer = httpx.ConnectError("https://slot.example/?sig=SECRET")
        outer.__cause__ = error
        return outer


@pytest.mark.parametrize(
    ("cause", "words"),
    [
        (socket.gaierror(-2, "Name or service not known"), "DNS does not know the host's name"),
        (ConnectionRefusedError(111, "Connection refused"), "the connection was refused: nothing listens"),
        (ssl.SSLCertVerificationError(1, "certificate verify failed"), "TLS: the host's certificate is not trusted"),
        (ssl.SSLError(1, "[SSL: WRONG_VERSION_NUMBER]"), "TLS failed (no reason given): is this an https address?"),
        (ConnectionResetError(104, "reset"), "the other side closed the connection"),
        (OSError(101, "Network is unreachable"), "network is unreachable"),
    ],
)
def test_the_systems_own_error_tells_the_cause(cause: OSError, words: str) -> None:
    """However often libraries wrapped it; and never the URL."""
    said = cause_of(raised_from(cause))

    assert said is not None
    assert said.startswith(words)
    assert "SECRET" not in said
