"""An answer may be anything: it takes bounded memory, and counts only if it is whole."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from itertools import chain, repeat
from typing import TYPE_CHECKING

import pytest

from proofsweep.client.transport import Reply, Request, Transport
from proofsweep.domain.exchanges import Call

if TYPE_CHECKING:
    from .conftest import ScriptedServer

Send = Callable[[], Reply]
MOST_TAKEN_BYTES = 24 * 1024 * 1024
"""The most that we read, and what the buffers of a loopback socket hold."""

OPENING = b"HTTP/1.1 200 OK\r\nx-request-id: rid-1\r\n"
CHUNKED = OPENING + b"transfer-encoding: chunked\r\n\r\n"
VALID = b'{"good": true, "verdict": "valid"}'


@pytest.fixture
def send(api: ScriptedServer, transport: Transport) -> Send:
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
    "null": (OPENING + b"\r\nnull", "bad_answer"),
    "not a number": (OPENING + b"\r\n" + VALID.replace(b"true", b"NaN"), "bad_answer"),
    "cut off": (OPENING + b"content-length: 400\r\n\r\n" + VALID, "bad_answer"),
    "a chunk size that is none": (CHUNKED + b"zz\r\n" + VALID, "bad_answer"),
    "a chunk of negative size": (CHUNKED + b"-22\r\n" + VALID, "bad_answer"),
    "chunks without an end": (CHUNKED + b"22\r\n" + VALID + b"\r\n", "bad_answer"),
    "two lengths": (OPENING + b"content-length: 34\r\ncontent-length: 35\r\n\r\n" + VALID, "connection"),
    "a length that is none": (OPENING + b"content-length: +34\r\n\r\n" + VALID, "connection"),
    "a negative length": (OPENING + b"content-length: -1\r\n\r\n" + VALID, "connection"),
    "a length beyond all bounds": (OPENING + b"content-length: " + b"9" * 40 + b"\r\n\r\n" + VALID, "connection"),
    "an unknown transfer": (OPENING + b"transfer-encoding: zip\r\n\r\n" + VALID, "connection"),
    "NUL in a header": (OPENING + b"x: a\x00b\r\n\r\n" + VALID, "connection"),
    "NUL in a header's name": (OPENING + b"a\x00b: x\r\n\r\n" + VALID, "connection"),
    "a line that is no header": (OPENING + b"no header\r\n\r\n" + VALID, "connection"),
    "a status of two digits": (b"HTTP/1.1 20 OK\r\n\r\n" + VALID, "connection"),
    "a status below all": (b"HTTP/1.1 020 OK\r\n\r\n" + VALID, "connection"),
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
def test_an_answer_that_breaks_the_rules_is_a_failure(api: ScriptedServer, send: Send, kind: str) -> None:
    """The reply says so, and holds no document."""
    broken, failure = BROKEN[kind]
    api.script = [broken]

    reply = send()

    assert (reply.exchange.failure, reply.document) == (failure, None)
    assert not reply.exchange.is_success


@pytest.mark.parametrize("status", [300, 304, 401, 418, 599, 999])
def test_a_status_of_no_success_is_kept(api: ScriptedServer, send: Send, status: int) -> None:
    """Whatever its body says, and no redirect is followed."""
    api.script = [b"HTTP/1.1 %d Whatever\r\nlocation: /v1/verify\r\n\r\n" % status + VALID]

    reply = send()

    assert (reply.exchange.status, reply.exchange.is_success) == (status, False)
    assert len(api.received) == 1


def test_headers_that_cannot_be_read_count_as_absent(api: ScriptedServer, send: Send) -> None:
    """Each is read by itself; a folded line belongs to the one before it, and any bytes are text."""
    junk = {
        "x-request-id": "\xff\xfe" * 500,
        "retry-after": "9" * 5_000,
        "x-ratelimit-remaining": "-1",
        "x-ratelimit-reset": "9" * 17,
        "date": "Fri, 99 Nov 0000\r\n folded: 99:99",
    }
    lines = "".join(f"{name}: {text}\r\n" for name, text in junk.items())
    api.script = [f"HTTP/1.1 200 OK\r\n{lines}\r\n".encode("latin-1") + VALID]

    exchange = send().exchange

    assert exchange.is_success
    assert exchange.request_id == "\xff\xfe" * 100
    assert (
        exchange.headers.retry_after_seconds is exchange.headers.rate_remaining is exchange.headers.rate_reset is None
    )
