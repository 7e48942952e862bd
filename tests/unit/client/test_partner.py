"""Each call of the contract as it goes over the wire; the slot's form is what object storage expects."""

from __future__ import annotations

import io
import json
import ssl
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from hashlib import sha256
from itertools import repeat
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pydantic import SecretStr
from python_multipart import parse_form

from proofsweep.client.client import Partner, slot_request
from proofsweep.client.transport import Transport
from proofsweep.domain.errors import CallFailed, SlotRefused, SlotSpent, SourceError, UsageError
from proofsweep.domain.models import UploadResponse

from .conftest import AUDIO, AUDIO_BYTES, KEY

if TYPE_CHECKING:
    from python_multipart.multipart import Field, File

    from .conftest import Client, NewClient, ScriptedServer, Write

IDEMPOTENCY_KEY = "rotation-of-november-2026"
VALID = {"good": True, "verdict": "valid"}

CALLS: list[tuple[Callable[[Partner], object], str]] = [
    (lambda partner: partner.health(), "GET /v1/health"),
    (lambda partner: partner.keys(), "GET /v1/partner/keys"),
    (lambda partner: partner.keys("a b&c"), "GET /v1/partner/keys?cursor=a+b%26c"),
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


def test_an_answer_without_a_verdict_is_asked_for_again(
    api: ScriptedServer, client: Client, answer: Write, slot: UploadResponse
) -> None:
    """It says nothing of the file, as if none had come; the audit trail has it as a failure."""
    api.script = [answer(body=b"{}"), answer(body=b'{"verdict": "valid"}'), answer(body=json.dumps(VALID).encode())]

    found = client.partner.verify(slot, None).response

    assert (found.good, found.verdict) == (True, "valid")
    assert [failure for _, _, failure in client.facts()] == ["bad_answer", "bad_answer", None]


def test_an_answer_that_stays_mistyped_is_a_failure(
    api: ScriptedServer, client: Client, answer: Write, slot: UploadResponse
) -> None:
    """Its error does not show its content."""
    api.script = [answer(body=b'{"good": "yes SECRET", "verdict": "valid"}', x_request_id="rid-9")] * 3

    with pytest.raises(CallFailed) as failed:
        client.partner.verify(slot, None)

    assert (failed.value.stage, failed.value.reason, failed.value.status) == ("verify", "bad_answer", 200)
    assert failed.value.request_id == "rid-9"
    assert "SECRET" not in f"{failed.value!r}{failed.value}"
    assert len(api.received) == 3


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


Fill = Callable[[], None]
LARGE_BYTES = 64 * 1024 * 1024  # far more than any socket's buffer holds
NASTY = st.lists(st.sampled_from(['"', "\r", "\n", "\0", ";", "=", "name", "file", "--", " ", "Ж", "%22"])).map("".join)
ANY_TEXT = NASTY | st.text(st.characters(exclude_categories=["Cs"]))
FIELDS = st.dictionaries(ANY_TEXT.filter(lambda name: "\\" not in name), ANY_TEXT, max_size=6)
"""No backslash in names: HTML forms do not escape it, but this parser unescapes it."""


@pytest.fixture
def fill(client: Client, slot: UploadResponse) -> Fill:
    return lambda: client.partner.fill_slot(slot, AUDIO, AUDIO_BYTES)


def test_the_form_has_a_known_length_and_no_key(
    api: ScriptedServer, storage: ScriptedServer, client: Client, answer: Write, fill: Fill
) -> None:
    """Chunked transfer is refused by object storage, and the key is for the API alone."""
    storage.script = [answer(201, b"<PostResponse/>", x_amz_request_id="S3-7", x_request_id="other")]

    fill()

    (request,) = storage.received
    assert storage.targets() == ["POST /bucket?sig=SECRET"]
    assert request.headers["content-length"] == str(len(request.body))
    assert client.exchanges[0].bytes_sent == len(request.body)
    assert {"transfer-encoding", "x-api-key", "cookie", "authorization"}.isdisjoint(request.headers)
    assert request.headers["user-agent"] == "proofsweep/0.0"
    assert api.received == []
    assert client.exchanges[0].storage_id == "S3-7", "its operator asks for it; it is no request ID of the partner"


def test_a_user_in_a_slot_s_url_is_not_sent(
    storage: ScriptedServer, client: Client, answer: Write, slot: UploadResponse
) -> None:
    """The contract has form fields for that, and httpx would make a header of it."""
    storage.script = [answer(204, b"")]
    url = storage.url.replace("://", "://user:SECRET@")
    named = UploadResponse.model_validate(slot.model_dump(by_alias=True) | {"url": url, "fields": slot.fields})

    client.partner.fill_slot(named, AUDIO, AUDIO_BYTES)

    assert "authorization" not in storage.received[0].headers
    assert storage.received[0].headers["host"] == storage.url.removeprefix("http://")


@pytest.mark.parametrize(
    "refusal",
    [(403, SlotSpent), (503, SlotSpent), (429, SlotSpent), (303, SlotRefused), (400, SlotRefused), (413, SlotRefused)],
)
def test_only_a_2xx_means_stored(
    storage: ScriptedServer, client: Client, answer: Write, fill: Fill, refusal: tuple[int, type[Exception]]
) -> None:
    """A 403 means an expired slot and stops no run; a redirect is not followed; no error shows URL or fields."""
    status, error = refusal
    storage.script = [answer(status, b"<Error>SECRET</Error>", location=f"{storage.url}/elsewhere")]

    with pytest.raises(error) as raised:
        fill()

    assert len(storage.received) == 1
    assert client.stop.reason is None
    assert "SECRET" not in f"{raised.value!r}{raised.value}{client.exchanges!r}"


def test_a_refusal_during_the_upload_is_read(
    storage: ScriptedServer, client: Client, answer: Write, slot: UploadResponse
) -> None:
    """Storage refuses a form that is too large before it has read it, and closes the connection."""
    storage.reads_bodies = False
    storage.script = [answer(413, b"<Error/>")]

    with pytest.raises(SlotRefused) as refused:
        client.partner.fill_slot(slot, repeat(bytes(65_536), 1_024), LARGE_BYTES)

    assert refused.value.status == 413
    assert client.exchanges[0].bytes_sent is not None
    assert client.exchanges[0].bytes_sent < LARGE_BYTES


def test_audio_that_changes_meanwhile_is_never_complete(
    storage: ScriptedServer, client: Client, slot: UploadResponse
) -> None:
    """Its error is raised as it is, and the connection is closed before the last byte."""

    def changing() -> Iterator[bytes]:
        yield bytes(65_536)
        raise SourceError("It changed.", reason="source_changed")

    with pytest.raises(SourceError, match="It changed"):
        client.partner.fill_slot(slot, changing(), 131_072)

    assert all(len(request.body) < 131_072 for request in storage.received)


@pytest.fixture
def safe_client(
    safe_api: ScriptedServer,
    new_client: NewClient,
    new_transport: Callable[..., Transport],
    unchecked: ssl.SSLContext,
) -> Client:
    """A client of it, which tries twice and trusts its certificate."""
    client = new_client(base_url=f"{safe_api.url}/v1", attempts=2)
    context = replace(client.partner.session.context, transport=new_transport(unchecked))
    return replace(client, partner=replace(client.partner, session=replace(client.partner.session, context=context)))


@pytest.mark.parametrize("scheme", ["http", "HTTP", "ftp"])
def test_a_slot_without_tls_is_refused_under_a_base_url_with_tls(
    safe_api: ScriptedServer, safe_client: Client, storage: ScriptedServer, answer: Write, scheme: str
) -> None:
    """The audio and the slot's secrets would go unencrypted. Such a slot is no answer, and says nothing of the item."""
    address = storage.url.removeprefix("http")
    slots = [{"uploadId": "u", "url": f"{each}{address}/SECRET", "fields": {}} for each in (scheme, scheme, "HTTPS")]
    safe_api.script = [answer(body=json.dumps(slot).encode()) for slot in slots]

    with pytest.raises(CallFailed, match=r"bad_answer: the slot's URL does not begin with https://") as failed:
        safe_client.partner.request_slot()

    assert (failed.value.stage, failed.value.reason, "SECRET" in str(failed.value)) == ("uploads", "bad_answer", False)
    assert safe_client.partner.request_slot().url.get_secret_value() == f"HTTPS{address}/SECRET"
    assert [failure for _, _, failure in safe_client.facts()] == ["bad_answer", "bad_answer", None]
    assert storage.received == []


@pytest.mark.parametrize("url", ["http://a..b/", "http://[", "ftp://host/x", "relative", "a port above all"])
def test_a_slot_with_an_unusable_url_is_spent(
    client: Client, slot: UploadResponse, storage: ScriptedServer, url: str
) -> None:
    """That is a failure of the slot, and not of this program. Of a port a system takes the lowest 16 bits: not we."""
    if url == "a port above all":
        host, _, port = storage.url.rpartition(":")
        url = f"{host}:{int(port) + 65_536}/"
    broken = UploadResponse.model_validate(slot.model_dump(by_alias=True) | {"url": url})

    with pytest.raises(SlotSpent):
        client.partner.fill_slot(broken, AUDIO, AUDIO_BYTES)

    assert client.facts() == [("slot", None, "connection")]
    assert client.exchanges[0].bytes_sent is None
    assert storage.received == []


def read_back(content: bytes, content_type: str) -> list[tuple[bytes | None, bytes]]:
    """Read a form with a parser that web frameworks use: names and contents, in order."""
    parts: list[tuple[bytes | None, bytes]] = []

    def keep_file(file: File) -> None:
        file.file_object.seek(0)
        parts.append((file.field_name, file.file_object.read()))

    def keep_field(field: Field) -> None:
        parts.append((field.field_name, field.value or b""))

    parse_form({"Content-Type": content_type.encode()}, io.BytesIO(content), keep_field, keep_file)
    return parts


@settings(deadline=None)
@given(FIELDS)
@example({'x"; filename="y': "", "file": "before the file", "a\r\nb": "Ж\r\n--\0"})
def test_every_field_reads_back_and_the_file_comes_last(fields: dict[str, str]) -> None:
    """No name and no value breaks out of its part, and the announced length is right."""
    slot = UploadResponse(uploadId="u", url=SecretStr("http://h/"), fields=fields)

    request = slot_request(slot, AUDIO, AUDIO_BYTES)
    content = b"".join([request.content] if isinstance(request.content, bytes) else request.content)

    expected = [(_as_html_has_it(name).encode(), text.encode()) for name, text in fields.items()]
    assert read_back(content, request.headers["Content-Type"]) == [*expected, (b"file", b"".join(AUDIO))]
    assert len(content) == request.content_bytes


def _as_html_has_it(name: str) -> str:
    return "".join(quote(sign) if sign in '"\r\n' else sign for sign in name)
