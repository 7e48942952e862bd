"""Each endpoint of the contract as it goes over the wire: method, path, query, headers, body."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING

import pytest
from pydantic import SecretStr

from proofsweep.client.client import Partner
from proofsweep.domain.errors import CallFailed, UsageError
from proofsweep.domain.models import UploadResponse

if TYPE_CHECKING:
    from .conftest import Client, NewClient, ScriptedServer, Write

KEY = "pk_SECRET_of_this_test"
IDEMPOTENCY_KEY = "rotation-of-november-2026"
VALID = {"good": True, "verdict": "valid"}

CALLS: list[tuple[Callable[[Partner], object], str]] = [
    (lambda partner: partner.health(), "GET /v1/health"),
    (lambda partner: partner.keys(), "GET /v1/partner/keys"),
    (lambda partner: partner.keys(limit=1), "GET /v1/partner/keys?limit=1"),
    (lambda partner: partner.keys(limit=100, cursor="a b&c"), "GET /v1/partner/keys?limit=100&cursor=a+b%26c"),
    (lambda partner: partner.rotate(IDEMPOTENCY_KEY), "POST /v1/partner/keys/rotate"),
    (lambda partner: partner.usage(), "GET /v1/partner/usage"),
    (lambda partner: partner.usage(days=90), "GET /v1/partner/usage?days=90"),
    (lambda partner: partner.proofs(), "GET /v1/proofs"),
    (lambda partner: partner.proofs(cursor="c1"), "GET /v1/proofs?cursor=c1"),
    (lambda partner: partner.proof("p1"), "GET /v1/proofs/p1"),
    (lambda partner: partner.proof("a/b?c#d%2Fé"), "GET /v1/proofs/a%2Fb%3Fc%23d%252F%C3%A9"),
    (lambda partner: partner.erase("../keys"), "DELETE /v1/proofs/..%2Fkeys"),
    (lambda partner: partner.asset_url("p1"), "GET /v1/proofs/p1/asset"),
    (lambda partner: partner.interpretation("p1"), "GET /v1/proofs/p1/interpretation"),
    (lambda partner: partner.request_slot(), "POST /v1/uploads?purpose=verify"),
]
FITS_ALL = b"""{"outcome": "erased", "status": "pending", "uploadId": "u", "url": "http://h", "fields": {},
               "apiKey": "s", "keyId": "k"}"""


@pytest.mark.parametrize(("ask", "request_line"), CALLS, ids=[line for _, line in CALLS])
def test_a_call_is_asked_as_the_contract_has_it(
    api: ScriptedServer, client: Client, answer: Write, ask: Callable[[Partner], object], request_line: str
) -> None:
    """The base URL's own path stays, ids are percent-encoded whole, and the key is in its header and nowhere else.

    Health is the one public endpoint (contract, Endpoints 1).
    """
    api.script = [answer(body=FITS_ALL)]

    ask(client.partner)

    (request,) = api.received
    assert api.targets() == [request_line]
    assert request.headers.get("x-api-key") == (None if "health" in request_line else KEY)
    assert request.headers["user-agent"] == "proofsweep/0.0"
    assert request.headers.get("content-length", "0") == "0"
    assert "transfer-encoding" not in request.headers


def test_rotation_carries_its_idempotency_key(api: ScriptedServer, client: Client, answer: Write) -> None:
    """Success is 201; the answer holds the new secret and does not print it."""
    body = b'{"apiKey": "pk_NEW", "keyId": "k2", "name": "n", "previousKeyExpiresAt": 1795176000}'
    api.script = [answer(201, body, idempotency_replayed="true")]

    rotated, headers = client.partner.rotate(IDEMPOTENCY_KEY)

    assert api.received[0].headers["idempotency-key"] == IDEMPOTENCY_KEY
    assert headers.is_replay
    assert rotated.api_key.get_secret_value() == "pk_NEW"
    assert "pk_NEW" not in f"{rotated!r}{client.exchanges!r}"


@pytest.mark.parametrize(
    ("ask", "why"),
    [
        *((partial(Partner.rotate, idempotency_key=key), "16 to 128") for key in ("x" * 15, "x" * 129, "é" * 20, "")),
        *((partial(Partner.erase, proof_id=each), "no proof ID") for each in ("", ".", "..")),
    ],
)
def test_what_no_header_or_path_can_carry_is_not_sent(
    api: ScriptedServer, client: Client, ask: Callable[[Partner], object], why: str
) -> None:
    """An Idempotency-Key has 16 to 128 characters (contract, Limits). To erase `..` would be another call."""
    with pytest.raises(UsageError, match=why):
        ask(client.partner)

    assert api.received == []


@pytest.mark.parametrize(("sidecar", "sent"), [(None, {}), (b"\xfb\xff" * 60, {"mark": "+//7//v/" * 20})])
def test_a_file_is_verified_by_its_upload_and_a_sidecar_under_its_wire_name(
    api: ScriptedServer,
    client: Client,
    answer: Write,
    slot: UploadResponse,
    *,
    sidecar: bytes | None,
    sent: dict[str, str],
) -> None:
    """In standard base64, with `+` and `/`, not in the URL-safe alphabet, and without line breaks."""
    body = json.dumps(VALID).encode()
    api.script = [answer(body=body)]

    verified = client.partner.verify(slot, sidecar)

    assert api.targets() == ["POST /v1/verify"]
    assert json.loads(api.received[0].body) == {"uploadId": "u-1"} | sent
    assert api.received[0].headers["content-type"] == "application/json"
    assert (verified.response.good, verified.body_sha256) == (True, sha256(body).hexdigest())


def test_a_pair_is_not_verified_while_the_wire_name_is_unknown(
    api: ScriptedServer, new_client: NewClient, slot: UploadResponse
) -> None:
    """The service would ignore a sidecar with a wrong name, and answer for the audio alone."""
    with pytest.raises(UsageError, match="wire name is not set"):
        new_client(sidecar_field=None).partner.verify(slot, b"proof")

    assert api.received == []


@pytest.mark.parametrize(("sidecar_field", "sidecar"), [("mark", "QUJD"), ("sidecar", "other"), (None, None)])
def test_a_stored_sidecar_is_read_by_its_wire_name(
    api: ScriptedServer, new_client: NewClient, answer: Write, sidecar_field: str | None, sidecar: str | None
) -> None:
    """It is not guessed while the name is unknown, and it is never printed."""
    api.script = [answer(body=b'{"song": "A", "mark": "QUJD", "sidecar": "other"}')]

    proof = new_client(sidecar_field=sidecar_field).partner.proof("p1")

    assert proof.song == "A"
    assert (proof.sidecar.get_secret_value() if proof.sidecar else None) == sidecar
    assert "QUJD" not in repr(proof)


def test_a_mistyped_answer_is_final(api: ScriptedServer, client: Client, answer: Write, slot: UploadResponse) -> None:
    """It is well-formed, so it would come again; the error does not show its content."""
    api.script = [answer(body=b'{"good": "yes SECRET", "verdict": "valid"}', x_request_id="rid-9")]

    with pytest.raises(CallFailed) as failed:
        client.partner.verify(slot, None)

    assert (failed.value.stage, failed.value.reason, failed.value.status) == ("verify", "bad_answer", 200)
    assert failed.value.request_id == "rid-9"
    assert "SECRET" not in f"{failed.value!r}{failed.value}"
    assert len(api.received) == 1


def test_an_asset_is_downloaded_without_the_key(storage: ScriptedServer, client: Client, answer: Write) -> None:
    """Large assets are streamed, and only the body of a success."""
    asset = bytes(range(256)) * 12_000
    storage.script = [answer(503, b"busy"), answer(body=asset)]

    taken: list[bytes] = []
    client.partner.download(SecretStr(f"{storage.url}/a?sig=x%2Fy"), lambda pieces: taken.append(b"".join(pieces)))

    assert storage.targets() == ["GET /a?sig=x%2Fy"] * 2
    assert "x-api-key" not in storage.received[0].headers
    assert taken == [asset]
    assert client.facts() == [("download", 503, None), ("download", 200, None)]
