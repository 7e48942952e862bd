"""Whatever happens on the wire becomes one exchange with its facts, and no error is raised."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from itertools import chain, repeat
from typing import TYPE_CHECKING

import pytest

from proofsweep.client.reply import Reply, Request, unnamed_in
from proofsweep.client.transport import Transport
from proofsweep.domain.errors import CallFailed
from proofsweep.domain.exchanges import Call

if TYPE_CHECKING:
    from .conftest import NewClient, ScriptedServer, Write

Send = Callable[[], Reply]
OK = b'{"ok": true}'


@pytest.fixture
def send(api: ScriptedServer, transport: Transport) -> Send:
    request = Request(call=Call.HEALTH, method="GET", url=f"{api.url}/v1/health")
    return lambda: transport.send(request, attempt=1, key=None)


@pytest.mark.parametrize(
    ("status", "body"), [(200, OK), (404, b'{"error": "No.", "code": "not_found"}'), (500, b"<html>"), (302, b"")]
)
def test_the_request_id_of_every_answer_is_kept(
    api: ScriptedServer, send: Send, answer: Write, status: int, body: bytes
) -> None:
    """Support asks for it, for successes too."""
    api.script = [answer(status, body, x_request_id="rid-7", x_ratelimit_remaining="9", sunset="soon")]

    exchange = send().exchange

    assert (exchange.status, exchange.request_id, exchange.failure) == (status, "rid-7", None)
    assert (exchange.headers.rate_remaining, exchange.headers.sunset) == (9, "soon")
    assert exchange.elapsed_ms > 0


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b'{"error": "No.", "code": "brand_new"}', "brand_new"),
        (b'{"code": 7}', None),
        (b'["code"]', None),
        (b"<html>Bad Gateway</html>", None),
        (b"", None),
        (b'{"code": "\\ud800x"}', "?x"),
    ],
)
def test_an_error_s_code_is_kept_as_received(
    api: ScriptedServer, send: Send, answer: Write, body: bytes, code: str | None
) -> None:
    """A body that is no ApiError has no code; its status is an answer nevertheless."""
    api.script = [answer(502, body)]

    exchange = send().exchange

    assert (exchange.status, exchange.error_code, exchange.failure) == (502, code, None)


@pytest.mark.parametrize("location", ["{storage}", "http://[bad"])
def test_redirects_are_not_followed(
    api: ScriptedServer, send: Send, answer: Write, storage: ScriptedServer, location: str
) -> None:
    """The key would go with them. One that leads nowhere is an answer nevertheless."""
    api.script = [answer(307, b"", location=location.format(storage=storage.url))]

    assert send().exchange.status == 307
    assert storage.received == []


def test_no_cookie_is_sent_back(api: ScriptedServer, transport: Transport, answer: Write) -> None:
    """The contract has no cookies."""
    api.script = [answer(200, OK, set_cookie="lb=1; Path=/"), answer(200, OK)]

    for attempt in (1, 2):
        transport.send(Request(call=Call.HEALTH, method="GET", url=f"{api.url}/v1/health"), attempt=attempt, key=None)

    assert ["cookie" in request.headers for request in api.received] == [False, False]


def test_the_proxy_of_the_environment_is_used(
    new_server: Callable[[], ScriptedServer], transport: Transport, answer: Write, environment: dict[str, str]
) -> None:
    """Many batch machines reach the internet only through one; NO_PROXY names the exceptions."""
    proxy, direct = new_server(), new_server()
    proxy.script, direct.script = [answer(200, OK)], [answer(200, OK)]
    environment |= {"http_proxy": proxy.url.removeprefix("http://"), "no_proxy": "127.0.0.1"}

    replies = [
        transport.send(Request(call=Call.HEALTH, method="GET", url=url), attempt=1, key=None)
        for url in ("http://partner.invalid/v1/health", f"{direct.url}/v1/health")
    ]

    assert [reply.exchange.status for reply in replies] == [200, 200]
    assert proxy.targets() == ["GET http://partner.invalid/v1/health"]
    assert direct.targets() == ["GET /v1/health"]


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


def test_a_refused_connection_differs_from_a_lost_answer(transport: Transport) -> None:
    """Nothing was sent, so nothing can have been charged."""
    request = Request(call=Call.HEALTH, method="GET", url="http://127.0.0.1:1/v1/health")

    exchange = transport.send(request, attempt=1, key=None).exchange

    assert (exchange.failure, exchange.bytes_sent) == ("connection", None)


def test_no_secret_is_printed(api: ScriptedServer, new_client: NewClient, answer: Write) -> None:
    """Neither error, request, reply nor record shows key, URL, content or body."""
    api.script = [answer(400, b'{"error": "SECRET", "code": "invalid_request"}')]
    client = new_client()
    request = Request(
        call=Call.VERIFY, method="POST", url="http://h/SECRET", headers={"h": "SECRET"}, content=b"SECRET"
    )

    with pytest.raises(CallFailed) as failed:
        client.partner.proof("SECRET")

    assert "SECRET" not in f"{failed.value!r}{failed.value}{failed.value.facts}{request!r}{client.exchanges!r}"
    assert "SECRET" not in f"{client.partner!r}{Reply(client.exchanges[0], {'apiKey': 'SECRET'})!r}"


MOST_TAKEN_BYTES = 24 * 1024 * 1024
"""The most that we read, and what the buffers of a loopback socket hold."""

OPENING = b"HTTP/1.1 200 OK\r\nx-request-id: rid-1\r\n"
CHUNKED = OPENING + b"transfer-encoding: chunked\r\n\r\n"
VALID = b'{"good": true, "verdict": "valid"}'


@pytest.fixture
def ask(api: ScriptedServer, transport: Transport) -> Send:
    """Ask for one verdict; give the reply."""
    request = Request(call=Call.VERIFY, method="POST", url=f"{api.url}/v1/verify")
    return lambda: transport.send(request, attempt=1, key=None)


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
def test_a_flood_is_not_read_to_its_end(api: ScriptedServer, ask: Send, kind: str) -> None:
    """The server sends 100 MiB, and few are read."""
    flood, failure = FLOODS[kind]
    api.script = [flood()]

    reply = ask()

    assert (reply.exchange.failure, reply.document) == (failure, None)
    assert api.sent_bytes < MOST_TAKEN_BYTES


BROKEN = {
    "no JSON": (OPENING + b"\r\n<html>", "bad_answer"),
    "no body": (b"HTTP/1.1 204 No\r\n\r\n", "bad_answer"),
    "null": (OPENING + b"\r\nnull", "bad_answer"),
    "not a number": (OPENING + b"\r\n" + VALID.replace(b"true", b"NaN"), "bad_answer"),
    "cut off": (OPENING + b"content-length: 400\r\n\r\n" + VALID, "bad_answer"),
    "a chunk size that is none": (CHUNKED + b"zz\r\n" + VALID, "bad_answer"),
    "a chunk of negative size": (CHUNKED + b"-22\r\n" + VALID, "bad_answer"),
    "chunks without an end": (CHUNKED + b"22\r\n" + VALID + b"\r\n", "bad_answer"),
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
    "compressed in secret": (OPENING + b"\r\n" + gzip.compress(MEBIBYTE * 32), "bad_answer"),
    "no UTF-8": (OPENING + b"\r\n" + VALID.replace(b"valid", b"va\xfflid"), "bad_answer"),
    "UTF-16": (OPENING + b"\r\n" + VALID.decode().encode("utf-16"), "bad_answer"),
    "infinity": (OPENING + b"\r\n" + VALID.replace(b"true", b"Infinity"), "bad_answer"),
    "a number of a million digits": (OPENING + b"\r\n" + VALID.replace(b"true", b"9" * 1_000_000), "bad_answer"),
    "two minds": (OPENING + b"\r\n" + VALID.replace(b"{", b'{"good": false, '), "bad_answer"),
    "too deep": (OPENING + b"\r\n" + VALID.replace(b"true", b"[" * 900 + b"]" * 900), "bad_answer"),
    "far too deep": (OPENING + b"\r\n" + b"[" * 1_000_000, "bad_answer"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_an_answer_that_breaks_the_rules_is_a_failure(api: ScriptedServer, ask: Send, kind: str) -> None:
    """The reply says so, and holds no document."""
    broken, failure = BROKEN[kind]
    api.script = [broken]

    reply = ask()

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
    """Whatever a service invents."""
    hostile = {f"{number:03}\x1b[2J\u202e\n" + "x" * 10_000: "SECRET" for number in range(500)}

    names = unnamed_in(Call.VERIFY, hostile, is_success=True)

    assert len(names) == 20
    assert all(len(name) <= 60 and name.isprintable() for name in names)
