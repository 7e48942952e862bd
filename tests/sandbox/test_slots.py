import base64
import json
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

import proofsweep_sandbox as sandbox

from .conftest import Issue

SLOT_BYTES = 68_157_440


@pytest.fixture
def slot(api: httpx.Client) -> dict[str, dict[str, str]]:
    answer: dict[str, dict[str, str]] = api.post("/uploads", params={"purpose": "verify"}).json()
    return answer


def fill(
    client: httpx.Client, slot: dict[str, dict[str, str]], audio: bytes = b"audio", **fields: str | None
) -> httpx.Response:
    """Post the form, with some fields changed, or left out where they are None."""
    changed = {name.replace("_", "-"): value for name, value in fields.items()}
    sent = {name: value for name, value in {**slot["fields"], **changed}.items() if value is not None}
    return client.post(str(slot["url"]), data=sent, files={"file": ("audio", audio)})


def code_of(answer: httpx.Response) -> str:
    return answer.text.partition("<Code>")[2].partition("</Code>")[0]


def test_a_slot_is_a_form_on_another_origin(
    running: sandbox.Running, keyless: httpx.Client, slot: dict[str, dict[str, str]]
) -> None:
    """The URL is not the API's, the fields are all strings, and the policy bounds the length at 65 MiB.

    The answer has the storage's own request ID, no body and no header of the API.
    """
    policy = json.loads(base64.b64decode(slot["fields"]["policy"]))
    answer = fill(keyless, slot)

    assert urlsplit(str(slot["url"])).netloc != urlsplit(running.base_url).netloc
    assert all(isinstance(value, str) for value in slot["fields"].values())
    assert ["content-length-range", 1, SLOT_BYTES] in policy["conditions"]
    assert (answer.status_code, answer.content) == (204, b"")
    assert answer.headers["x-amz-request-id"]
    assert "x-request-id" not in answer.headers


@pytest.mark.parametrize(
    "changed",
    [
        {"policy": None},
        {"x_amz_signature": None},
        {"x_amz_signature": "0" * 64},
        {"policy": base64.b64encode(b'{"conditions": []}').decode()},
        {"key": None},
        {"key": "verify/elsewhere"},
        {"acl": "public-read"},
    ],
)
def test_a_form_that_does_not_follow_its_policy_is_denied(
    keyless: httpx.Client, slot: dict[str, dict[str, str]], changed: dict[str, str | None]
) -> None:
    """A missing, changed or additional field is a 403 in XML."""
    answer = fill(keyless, slot, **changed)

    assert (answer.status_code, code_of(answer)) == (403, "AccessDenied")
    assert answer.headers["content-type"] == "application/xml"
    assert answer.headers["x-amz-request-id"] in answer.text


def test_an_api_key_at_the_storage_is_refused(
    api: httpx.Client, keyless: httpx.Client, slot: dict[str, dict[str, str]]
) -> None:
    """It is another origin: a client that sends the key there is found out."""
    with_key = fill(api, slot)
    without = fill(keyless, slot)

    assert (with_key.status_code, code_of(with_key), without.status_code) == (400, "InvalidArgument", 204)


def test_an_expired_slot_is_denied_by_the_storage(
    keyless: httpx.Client, slot: dict[str, dict[str, str]], later: Callable[[float], None]
) -> None:
    """Slots are short-lived: fifteen minutes here."""
    later(15 * 60 + 1)

    answer = fill(keyless, slot)

    assert (answer.status_code, code_of(answer)) == (403, "AccessDenied")


def test_an_upload_without_a_length_is_refused(keyless: httpx.Client, slot: dict[str, dict[str, str]]) -> None:
    """Object storage takes no chunked uploads: Content-Length is required."""
    answer = keyless.post(
        str(slot["url"]), content=iter([b"--x--"]), headers={"content-type": "multipart/form-data; boundary=x"}
    )

    assert (answer.status_code, code_of(answer)) == (411, "MissingContentLength")


def test_one_byte_more_than_65_mebibytes_is_refused(
    running: sandbox.Running, keyless: httpx.Client, slot: dict[str, dict[str, str]]
) -> None:
    """No partial file remains."""
    answer = fill(keyless, slot, bytes(SLOT_BYTES + 1))

    assert (answer.status_code, code_of(answer)) == (400, "EntityTooLarge")
    assert not [file for file in (running.key_file.parent / "uploads").iterdir() if file.name.startswith(".")]


def test_a_second_form_replaces_the_first(api: httpx.Client, keyless: httpx.Client, wav: Path, issue: Issue) -> None:
    """While the policy is valid, a slot can be filled again; verify uses the last file."""
    slot = api.post("/uploads").json()
    credentialed = issue().audio.read_bytes()

    fill(keyless, slot, wav.read_bytes())
    before = api.post("/verify", json={"uploadId": slot["uploadId"]}).json()["verdict"]
    fill(keyless, slot, credentialed)
    after = api.post("/verify", json={"uploadId": slot["uploadId"]}).json()["verdict"]

    assert (before, after) == ("unreadable", "valid")
