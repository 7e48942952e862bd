"""Whatever happens on the wire becomes one exchange with its facts, in time, and no error is raised."""

from __future__ import annotations

import errno
import gzip
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from email.utils import formatdate
from itertools import chain, repeat
from typing import TYPE_CHECKING

import httpx
import pytest

from proofsweep.client.reply import Reply, Request, cause_of, unnamed_in
from proofsweep.client.transport import Transport
from proofsweep.domain.errors import CallFailed, SourceError
from proofsweep.domain.exchanges import Call, Exchange
from proofsweep.domain.reasons import Reason

if TYPE_CHECKING:
    from .conftest import NewClient, ScriptedServer, Write

Send = Callable[[], Reply]
OK = b'{"ok": true}'
OPENING = b"HTTP/1.1 200 OK\r\nx-request-id: rid-1\r\n"
CHUNKED = OPENING + b"transfer-encoding: chunked\r\n\r\n"
VALID = b'{"good": true, "verdict": "valid"}'
WHOLE = OPENING + b"content-length: 34\r\n\r\n" + VALID


def request_for(server: ScriptedServer) -> Request:
    return Request(call=Call.VERIFY, method="POST", url=f"{server.url}/v1/verify")


@pytest.fixture
def send(api: ScriptedServer, transport: Transport) -> Send:
    return lambda: transport.send(request_for(api), attempt=1, key=None)


@pytest.mark.parametrize(
    ("status", "body", "code"),
    [
        (200, VALID, None),
        (302, b"", None),
        (404, b'{"error": "No.", "code": "brand_new"}', "brand_new"),
        (500, b"<html>Bad Gateway</html>", None),
        (500, b'{"code": 7}', None),
        (500, b'["code"]', None),
        (500, b'{"code": "\\ud800x"}', "?x"),
    ],
)
def test_the_request_id_of_every_answer_is_kept_and_the_code_of_an_error(
    api: ScriptedServer, send: Send, answer: Write, *, status: int, body: bytes, code: str | None
) -> None:
    """Support asks for it, for successes too. A body that is no ApiError has no code; its status is an answer still."""
    api.script = [answer(status, body, x_request_id="rid-7", x_ratelimit_remaining="9", sunset="soon")]

    exchange = send().exchange

    assert (exchange.status, exchange.request_id, exchange.failure) == (status, "rid-7", None)
    assert (exchange.headers.rate_remaining, exchange.headers.sunset) == (9, "soon")
    assert exchange.error_code == code
    assert exchange.elapsed_ms > 0


def test_a_date_that_is_far_from_the_others_is_none(api: ScriptedServer, send: Send, answer: Write) -> None:
    """Not even one that no calendar goes beyond ends the exchange."""
    dates = formatdate(usegmt=True), "Thu, 30 Nov 2028 12:00:00 GMT", "Fri, 31 Dec 9999 23:59:59 GMT"
    api.script = [answer(200, VALID, date=date) for date in (dates[2], *dates)]

    read = [send().exchange.headers.partner_date is not None for _ in range(4)]

    assert read == [False, True, False, False]


@pytest.mark.parametrize("location", ["{storage}", "http://[bad"])
def test_redirects_are_not_followed(
    api: ScriptedServer, send: Send, answer: Write, storage: ScriptedServer, location: str
) -> None:
    """The key would go with them. One that leads nowhere is an answer nevertheless."""
    api.script = [answer(307, b"", location=location.format(storage=storage.url))]

    assert send().exchange.status == 307
    assert storage.received == []


def test_no_cookie_is_sent_back(api: ScriptedServer, send: Send, answer: Write) -> None:
    """The contract has no cookies."""
    api.script = [answer(200, OK, set_cookie="lb=1; Path=/"), answer(200, OK)]

    send()
    send()

    assert ["cookie" in request.headers for request in api.received] == [False, False]


def test_the_proxy_of_the_environment_is_used_and_told_its_user(
    api: ScriptedServer, storage: ScriptedServer, transport: Transport, environment: dict[str, str]
) -> None:
    """Many batch machines reach the internet only through one; NO_PROXY names exceptions, which are told nothing."""
    environment |= {"http_proxy": api.url.replace("://", "://me:p%40ss@"), "no_proxy": "127.0.0.1"}
    api.script, storage.script = [WHOLE], [WHOLE]

    replies = [
        transport.send(Request(call=Call.HEALTH, method="GET", url=url), attempt=1, key=None)
        for url in ("http://partner.invalid/v1/health", f"{storage.url}/v1/health")
    ]

    assert [reply.exchange.status for reply in replies] == [200, 200]
    assert api.targets() == ["GET http://partner.invalid/v1/health"]
    assert storage.targets() == ["GET /v1/health"]
    assert api.received[0].headers["proxy-authorization"] == "Basic bWU6cEBzcw=="
    assert "proxy-authorization" not in storage.received[0].headers


def test_a_proxy_that_refuses_is_named(
    api: ScriptedServer, transport: Transport, answer: Write, environment: dict[str, str]
) -> None:
    """Nothing was sent to the partner, and its name or port are not to blame."""
    api.script = [answer(407, b"")]
    environment["https_proxy"] = api.url
    request = Request(call=Call.HEALTH, method="GET", url="https://partner.invalid/v1/health")

    exchange = transport.send(request, attempt=1, key=None).exchange

    assert api.targets() == ["CONNECT partner.invalid:443"]
    assert (exchange.status, exchange.failure, exchange.bytes_sent) == (None, "connection", None)
    assert (exchange.because or "").startswith("the proxy refused the connection")


@pytest.mark.parametrize("resets", [True, False])
@pytest.mark.parametrize("sent", [b"", b"HTTP/1.1 200 OK\r\ncontent-le", b"\x16\x03\x01 no HTTP\r\n\r\n"])
def test_a_connection_that_ends_without_an_answer_is_a_failure(
    api: ScriptedServer, send: Send, sent: bytes, resets: bool
) -> None:
    """The request went out, so it may have been counted; there is no status and no ID."""
    api.script, api.resets = [sent], resets

    exchange = send().exchange

    assert (exchange.status, exchange.request_id, exchange.failure) == (None, None, "connection")
    assert exchange.bytes_sent == 0


@pytest.mark.parametrize(
    ("number", "is_shortage"),
    [
        *((number, True) for number in (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EADDRNOTAVAIL)),
        *((number, False) for number in (errno.ENETUNREACH, errno.ECONNREFUSED)),
    ],
)
def test_a_connection_that_this_machine_cannot_open_is_told_apart(
    send: Send, monkeypatch: pytest.MonkeyPatch, *, number: int, is_shortage: bool
) -> None:
    """It says nothing about the service, nor about the file. Nothing was sent, so nothing can have been charged."""

    def fail(*_: object, **__: object) -> None:
        raise OSError(number, "No.")

    monkeypatch.setattr(socket, "create_connection", fail)

    exchange = send().exchange

    assert (exchange.failure, exchange.bytes_sent, exchange.is_shortage) == ("connection", None, is_shortage)


def test_no_secret_is_printed(api: ScriptedServer, new_client: NewClient, answer: Write) -> None:
    """Neither error, request, reply nor record shows key, URL, content or body."""
    api.script = [answer(400, b'{"error": "SECRET", "code": "invalid_request"}')]
    client = new_client()
    request = Request(
        call=Call.VERIFY, method="POST", url="http://h/SECRET", headers={"h": "SECRET"}, content=b"SECRET"
    )

    with pytest.raises(CallFailed) as failed:
        client.partner.proof("SECRET")

    assert "SECRET" not in f"{failed.value!r}{failed.value}{vars(failed.value)}{request!r}{client.exchanges!r}"
    assert "SECRET" not in f"{client.partner!r}{Reply(client.exchanges[0], {'apiKey': 'SECRET'})!r}"


MOST_TAKEN_BYTES = 24 * 1024 * 1024
"""The most that we read, and what the buffers of a loopback socket hold."""

MEBIBYTE = b" " * 1024 * 1024
FLOODS = {
    "one header": (lambda: chain([OPENING + b"x: "], repeat(b"y" * 65_536, 1600)), "connection"),
    "many headers": (lambda: chain([OPENING], repeat(b"x: y\r\n" * 10_000, 1600)), "connection"),
    "a body as long as it says": (
        lambda: chain([OPENING + b"content-length: 104857634\r\n\r\n"], repeat(MEBIBYTE, 100), [VALID]),
        "bad_answer",
    ),
    "a body of unsaid length": (lambda: chain([OPENING + b"\r\n"], repeat(MEBIBYTE, 100), [VALID]), "bad_answer"),
    "chunks": (lambda: chain([CHUNKED], repeat(b"100000\r\n" + MEBIBYTE + b"\r\n", 100)), "bad_answer"),
    "a chunk without end": (lambda: chain([CHUNKED + b"ffffffffffff\r\n"], repeat(MEBIBYTE, 100)), "bad_answer"),
}


@pytest.mark.parametrize("kind", FLOODS)
def test_a_flood_is_not_read_to_its_end(api: ScriptedServer, send: Send, kind: str) -> None:
    """The server sends 100 MiB, and few are read."""
    flood, failure = FLOODS[kind]
    api.script = [flood()]

    reply = send()

    assert (reply.exchange.failure, reply.document) == (failure, None)
    assert api.sent_bytes < MOST_TAKEN_BYTES


BROKEN = {
    "no JSON": (OPENING + b"\r\n<html>", "bad_answer"),
    "no body": (b"HTTP/1.1 204 No\r\n\r\n", "bad_answer"),
    "cut off": (OPENING + b"content-length: 400\r\n\r\n" + VALID, "connection"),
    "a chunk size that is none": (CHUNKED + b"zz\r\n" + VALID, "bad_answer"),
    "a chunk of negative size": (CHUNKED + b"-22\r\n" + VALID, "bad_answer"),
    "chunks without an end": (CHUNKED + b"22\r\n" + VALID + b"\r\n", "connection"),
    "two lengths": (OPENING + b"content-length: 34\r\ncontent-length: 35\r\n\r\n" + VALID, "connection"),
    "a length that is none": (OPENING + b"content-length: +34\r\n\r\n" + VALID, "connection"),
    "an unknown transfer": (OPENING + b"transfer-encoding: zip\r\n\r\n" + VALID, "connection"),
    "NUL in a header": (OPENING + b"x: a\x00b\r\n\r\n" + VALID, "connection"),
    "a line that is no header": (OPENING + b"no header\r\n\r\n" + VALID, "connection"),
    "a status of two digits": (b"HTTP/1.1 20 OK\r\n\r\n" + VALID, "connection"),
    "another protocol": (b"HTTP/1.1 101 OK\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n" + VALID, "connection"),
    "a body where none may be": (b"HTTP/1.1 204 No\r\ncontent-length: 34\r\n\r\n" + VALID, "bad_answer"),
    "compressed and said so": (OPENING + b"content-encoding: gzip\r\n\r\n" + gzip.compress(VALID), "bad_answer"),
    "compressed twice": (OPENING + b"content-encoding: gzip, gzip\r\n\r\n" + gzip.compress(VALID), "bad_answer"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_an_answer_that_breaks_the_rules_is_a_failure(api: ScriptedServer, send: Send, kind: str) -> None:
    broken, failure = BROKEN[kind]
    api.script = [broken]

    reply = send()

    assert (reply.exchange.failure, reply.document) == (failure, None)
    assert not reply.exchange.is_success


VERIFIED = {"good": True, "verdict": "valid", "proofId": "p", "song": "s", "issuedAt": 1, "classification": "human"}
GRADE = {"human": 1, "ai": 0, "unknown": 0, "riskCategory": "low", "rubricVersion": "1"}


@pytest.mark.parametrize(
    ("call", "answer", "names"),
    [
        (Call.VERIFY, {**VERIFIED, "grade": GRADE, "interpretation": {"any": 1}, "embeddedCredential": {"any": 1}}, []),
        (Call.VERIFY, {**VERIFIED, "mood": "SECRET", "grade": {**GRADE, "key": 1}}, ["mood"]),
        (Call.VERIFY, {**VERIFIED, "verdict": "quantumSealed"}, []),
        (Call.VERIFY, {**VERIFIED, "verdict": 7, "grade": "A"}, []),
        (Call.UPLOADS, {"uploadId": "u", "url": "SECRET", "fields": {"any": "SECRET"}}, []),
        (Call.UPLOADS, {"uploadId": "u", "url": "SECRET", "fields": {}, "expiresAt": 1}, ["expiresAt"]),
        (Call.USAGE, {"plan": {"quotaLimit": 1, "tier": "SECRET"}, "days": [], "free": 2}, ["free"]),
        (Call.HEALTH, {"ok": True, "version": "1", "commit": "c", "deployedAt": 1}, []),
        (Call.PROOF, {"any": "SECRET"}, []),
        (Call.ASSET, {"any": "SECRET"}, []),
        (Call.VERIFY, ["no object"], []),
        (Call.VERIFY, None, []),
    ],
)  # fmt: skip
def test_members_that_the_contract_does_not_name(call: Call, answer: object, names: list[str]) -> None:
    """Where the contract does not show all fields, none is unknown."""
    assert list(unnamed_in(call, answer, is_success=True)) == names


def test_names_are_few_short_and_printable() -> None:
    hostile = {f"{number:03}\x1b[2J\u202e\n" + "x" * 10_000: "SECRET" for number in range(500)}

    names = unnamed_in(Call.VERIFY, hostile, is_success=True)

    assert len(names) == 20
    assert all(len(name) <= 60 and name.isprintable() for name in names)


ANSWER_SECONDS = 0.6
LARGE_BYTES = 64 * 1024 * 1024


@pytest.fixture
def impatient(new_transport: Callable[..., Transport], tls: ssl.SSLContext) -> Transport:
    """Return a transport that waits briefly for the whole answer, and half as long for each read."""
    return new_transport(tls, ANSWER_SECONDS / 2)


def slowly(pieces: Iterable[bytes], seconds: float) -> Iterator[bytes]:
    for piece in pieces:
        time.sleep(seconds)
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
    """Its whole time is limited, headers and interim answers included, however often something small comes."""
    beginning, piece = ENDLESS[kind]
    api.script = [chain([beginning], slowly(repeat(piece), ANSWER_SECONDS / 20))]

    reply = impatient.send(request_for(api), attempt=1, key=None)

    assert (reply.exchange.failure, reply.document) == ("timeout", None)
    assert reply.exchange.elapsed_ms >= ANSWER_SECONDS * 1000


def test_the_time_for_an_answer_begins_when_all_is_sent(api: ScriptedServer, impatient: Transport) -> None:
    """A large body takes long on a slow network: at 2 Mbit/s, shared by sixteen, 64 KiB take four seconds."""
    content = slowly([bytes(16_384)] * 4, ANSWER_SECONDS / 2)
    api.script = [WHOLE]

    reply = impatient.send(replace(request_for(api), content=content, content_bytes=65_536), attempt=1, key=None)

    assert reply.document == {"good": True, "verdict": "valid"}
    assert reply.exchange.elapsed_ms > ANSWER_SECONDS * 1000


def test_a_request_that_is_taken_too_slowly_is_a_timeout(
    api: ScriptedServer, impatient: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its whole time is limited, however often a few bytes of it go; its slot is gone long before."""
    monkeypatch.setattr("proofsweep.client.transport._LEAST_SENT_BYTES_PER_SECOND", 1e9)
    content = slowly(repeat(bytes(16), 100), ANSWER_SECONDS / 10)

    reply = impatient.send(replace(request_for(api), content=content, content_bytes=1_600), attempt=1, key=None)

    assert (reply.exchange.status, reply.exchange.failure) == (None, "timeout")
    assert (reply.exchange.bytes_sent or 0) < 800


def test_a_body_that_its_source_ends_is_told_apart_from_a_broken_connection(
    api: ScriptedServer, transport: Transport
) -> None:
    """The wire is as it was, and the exchange is known nevertheless: a part of the file went out."""
    changed = SourceError("The file changed while it was being sent.", reason=Reason.SOURCE_CHANGED)

    def content() -> Iterator[bytes]:
        yield b"0123456789"
        raise changed

    upload = Request(call=Call.SLOT, method="POST", url=api.url, content=content(), content_bytes=40)
    reply = transport.send(upload, attempt=1, key=None)

    exchange = reply.exchange
    assert (exchange.status, exchange.failure, exchange.bytes_sent) == (None, "source", 10)
    assert reply.abandoned_by is changed


def test_a_large_body_has_more_time(api: ScriptedServer, impatient: Transport) -> None:
    """As much as it takes at half a Mbit per second: an asset of 65 MiB may come over a slow network."""
    pieces, taken = [bytes(8192)] * 8, list[bytes]()
    request = Request(call=Call.DOWNLOAD, method="GET", url=f"{api.url}/a", into=taken.extend)
    api.script = [chain([OPENING + b"content-length: 65536\r\n\r\n"], slowly(pieces, ANSWER_SECONDS / 6))]

    reply = impatient.send(request, attempt=1, key=None)

    assert (reply.exchange.failure, b"".join(taken)) == (None, bytes(65536))
    assert reply.exchange.elapsed_ms > ANSWER_SECONDS * 1000


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
    request: pytest.FixtureRequest,
    new_transport: Callable[..., Transport],
    unchecked: ssl.SSLContext,
    kind: str,
    size_bytes: int,
) -> None:
    """Whether it waits for an answer, or for the server to read; a later one fails before it is sent."""
    server, has_one, over = request.getfixturevalue(kind), threading.Event(), threading.Event()
    server.reads_bodies = False
    server.before_answering = lambda _request: (has_one.set(), over.wait(30.0))
    transport = new_transport(unchecked, 600.0)
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
    over.set()

    assert [(exchange.status, exchange.failure) for exchange in ended] == [(None, "connection")] * 2


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
