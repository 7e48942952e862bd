"""Whatever happens on the wire becomes one exchange with its facts, and no error is raised."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from proofsweep.client.transport import Reply, Request, Transport
from proofsweep.config.sections import TimeoutSettings
from proofsweep.domain.errors import CallFailed
from proofsweep.domain.exchanges import Call

if TYPE_CHECKING:
    from .conftest import NewClient, ScriptedServer, Write

Send = Callable[[], Reply]
OK = b'{"ok": true}'


@pytest.fixture
def send(api: ScriptedServer, transport: Transport) -> Send:
    """Send one keyless GET of /health to the API, and give the reply."""
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


def test_redirects_are_not_followed(api: ScriptedServer, send: Send, answer: Write, storage: ScriptedServer) -> None:
    """The key would go with them."""
    api.script = [answer(307, b"", location=storage.url)]

    assert send().exchange.status == 307
    assert storage.received == []


def test_no_cookie_is_sent_back(api: ScriptedServer, transport: Transport, answer: Write) -> None:
    """The contract has no cookies."""
    api.script = [answer(200, OK, set_cookie="lb=1; Path=/"), answer(200, OK)]

    for attempt in (1, 2):
        transport.send(Request(call=Call.HEALTH, method="GET", url=f"{api.url}/v1/health"), attempt=attempt, key=None)

    assert ["cookie" in request.headers for request in api.received] == [False, False]


def test_the_proxy_of_the_environment_is_used(
    new_server: Callable[[], ScriptedServer],
    tls: ssl.SSLContext,
    answer: Write,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Many batch machines reach the internet only through one; NO_PROXY names the exceptions."""
    proxy, direct = new_server(), new_server()
    proxy.script, direct.script = [answer(200, OK)], [answer(200, OK)]
    monkeypatch.setenv("http_proxy", proxy.url.removeprefix("http://"))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    transport = Transport(TimeoutSettings(), user_agent="test", tls=tls)

    replies = [
        transport.send(Request(call=Call.HEALTH, method="GET", url=url), attempt=1, key=None)
        for url in ("http://partner.invalid/v1/health", f"{direct.url}/v1/health")
    ]
    transport.close()

    assert [reply.exchange.status for reply in replies] == [200, 200]
    assert proxy.targets() == ["GET http://partner.invalid/v1/health"]
    assert direct.targets() == ["GET /v1/health"]


def test_a_proxy_that_refuses_is_named(
    api: ScriptedServer, transport: Transport, answer: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing was sent to the partner, and its name or port are not to blame."""
    api.script = [answer(407, b"")]
    monkeypatch.setenv("https_proxy", api.url)
    monkeypatch.setenv("no_proxy", "")
    request = Request(call=Call.HEALTH, method="GET", url="https://partner.invalid/v1/health")

    exchange = transport.send(request, attempt=1, key=None).exchange

    assert api.targets() == ["CONNECT partner.invalid:443"]
    assert (exchange.status, exchange.failure, exchange.bytes_sent) == (None, "connection", None)
    assert (exchange.because or "").startswith("the proxy refused the connection")


def test_identity_is_no_encoding(api: ScriptedServer, send: Send, answer: Write) -> None:
    """Some servers say so."""
    api.script = [answer(body=OK, content_encoding="Identity")]

    assert send().document == {"ok": True}


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


def test_no_answer_in_time_is_a_timeout(api: ScriptedServer, tls: ssl.SSLContext) -> None:
    """A partner that accepts and never answers does not block a worker."""
    impatient = Transport(TimeoutSettings(read_seconds=0.1), user_agent="proofsweep/0.0", tls=tls)
    request = Request(call=Call.HEALTH, method="GET", url=f"{api.url}/v1/health")
    api.stalls = True

    exchange = impatient.send(request, attempt=1, key=None).exchange
    impatient.close()

    assert exchange.failure == "timeout"


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
