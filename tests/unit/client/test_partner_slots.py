"""The slot's form is what object storage expects, and holds no secret of ours."""

from __future__ import annotations

import io
import json
import ssl
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import repeat
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pydantic import SecretStr
from python_multipart import parse_form

from proofsweep.client.client import slot_request
from proofsweep.client.transport import Transport
from proofsweep.config.proxies import Proxies
from proofsweep.config.sections import TimeoutSettings
from proofsweep.domain.errors import CallFailed, SlotRefused, SlotSpent, SourceError
from proofsweep.domain.models import UploadResponse

from .conftest import AUDIO, AUDIO_BYTES

if TYPE_CHECKING:
    from python_multipart.multipart import Field, File

    from .conftest import Client, NewClient, ScriptedServer, Write

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
def safe_client(safe_api: ScriptedServer, new_client: NewClient, unchecked: ssl.SSLContext) -> Iterator[Client]:
    """A client of it, which tries twice and trusts its certificate."""
    client = new_client(base_url=f"{safe_api.url}/v1", attempts=2)
    transport = Transport(TimeoutSettings(), user_agent="proofsweep/0.0", proxies=Proxies({}), tls=unchecked)
    context = replace(client.partner.session.context, transport=transport)
    yield replace(client, partner=replace(client.partner, session=replace(client.partner.session, context=context)))
    transport.close()


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
