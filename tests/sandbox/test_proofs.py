import base64
from collections.abc import Callable
from urllib.parse import urlsplit

import httpx
import pytest

import proofsweep_sandbox as sandbox

from .conftest import Issue, pages_of


@pytest.fixture
def one_file(issue: Issue) -> sandbox.Issued:
    """A one-file credential of this test's tenant."""
    return issue(song="Intro")


@pytest.fixture
def stranger(operator: sandbox.Operator, keyless: httpx.Client) -> Callable[[str, str], httpx.Response]:
    """Calls with the key of another tenant."""
    other = operator.add_tenant("another")

    def call(method: str, path: str) -> httpx.Response:
        return keyless.request(method, path, headers={"x-api-key": other.api_key})

    return call


def test_listing_is_newest_first_and_paged(api: httpx.Client, later: Callable[[float], None], issue: Issue) -> None:
    """The pages go from the newest proof to the oldest, also within one second; the last page has no cursor."""
    made = [issue(legacy=True).proof_id for _ in range(3)]
    later(5)
    made += [issue(legacy=True).proof_id for _ in range(2)]

    pages = pages_of(api, "/proofs")

    assert [len(page["items"]) for page in pages] == [2, 2, 1]
    assert [item["proofId"] for page in pages for item in page["items"]] == made[::-1]


def test_pending_proofs_are_unlisted(api: httpx.Client, issue: Issue) -> None:
    """A pending proof has an interpretation, but is not listed and cannot be fetched."""
    issued = issue(pending=True)

    assert api.get("/proofs").json() == {"items": []}
    assert api.get(f"/proofs/{issued.proof_id}").status_code == 404
    assert api.get(f"/proofs/{issued.proof_id}/interpretation").json()["status"] == "pending"


def test_an_invalid_cursor_is_a_400(
    api: httpx.Client, stranger: Callable[[str, str], httpx.Response], issue: Issue
) -> None:
    """A cursor is valid for its own tenant's list only."""
    for _ in range(2):
        issue(legacy=True)
    cursor = api.get("/proofs", params={"limit": 1}).json()["nextCursor"]

    assert stranger("GET", f"/proofs?cursor={cursor}").status_code == 400
    assert api.get("/partner/keys", params={"cursor": cursor}).status_code == 400
    for path in ("/partner/keys?cursor=", "/proofs?cursor="):
        assert [api.get(f"{path}{wrong}").status_code for wrong in ("", "AAAA")] == [400, 400]


def test_fetching_gives_the_sidecar_as_it_was_issued(api: httpx.Client, issue: Issue) -> None:
    """The base64 has exactly the issued bytes; only a one-file proof has an artifact. A list has few members."""
    issued = issue(legacy=True, song="Intro")

    (item,) = api.get("/proofs").json()["items"]
    record = api.get(f"/proofs/{issued.proof_id}").json()

    listed = {"proofId": issued.proof_id, "song": "Intro", "issuedAt": issued.issued_at, "hasFeedback": False}
    assert item.pop("classification")
    assert item == listed
    assert issued.sidecar is not None
    assert base64.b64decode(record["sidecar"], validate=True) == issued.sidecar.read_bytes()
    assert record["song"] == "Intro"
    assert api.get(f"/proofs/{issued.proof_id}/asset").status_code == 404


@pytest.mark.parametrize("path", ["", "/asset", "/interpretation"])
def test_another_tenants_proof_reads_as_missing(
    one_file: sandbox.Issued, stranger: Callable[[str, str], httpx.Response], path: str
) -> None:
    """404, the same as for an unknown id."""
    theirs, nobodys = (stranger("GET", f"/proofs/{proof_id}{path}") for proof_id in (one_file.proof_id, "prf_none"))

    assert (theirs.status_code, theirs.json()) == (nobodys.status_code, nobodys.json()) == (404, nobodys.json())


def test_erasing_twice_gives_the_same_receipt(
    api: httpx.Client,
    keyless: httpx.Client,
    one_file: sandbox.Issued,
    later: Callable[[float], None],
    stranger: Callable[[str, str], httpx.Response],
) -> None:
    """The outcome is erased, then already_erased; `erasedAt` is the same, and the stored audio is gone.

    It is already_erased for another tenant, who erases nothing, and for an id with nothing behind it.
    """
    link = api.get(f"/proofs/{one_file.proof_id}/asset").json()["url"]
    others = [stranger("DELETE", f"/proofs/{one_file.proof_id}"), api.delete("/proofs/prf_none")]
    first = api.delete(f"/proofs/{one_file.proof_id}").json()
    later(60)
    second = api.delete(f"/proofs/{one_file.proof_id}").json()

    assert first["outcome"] == "erased"
    assert second == {**first, "outcome": "already_erased"}
    assert [(answer.status_code, answer.json()["outcome"]) for answer in others] == [(200, "already_erased")] * 2
    assert api.get(f"/proofs/{one_file.proof_id}").status_code == 404
    assert keyless.get(link).status_code == 404


def test_an_asset_link_gives_the_credentialed_copy_for_a_short_time(
    running: sandbox.Running,
    api: httpx.Client,
    keyless: httpx.Client,
    one_file: sandbox.Issued,
    later: Callable[[float], None],
) -> None:
    """On another origin and without a key; denied after five minutes, with another expiry, without its signature."""
    url = api.get(f"/proofs/{one_file.proof_id}/asset").json()["url"]

    download = keyless.get(url)
    stretched = keyless.get(url.replace("expires=1", "expires=2"))
    unsigned = keyless.get(url.partition("?")[0])
    later(5 * 60 + 1)
    late = keyless.get(url)

    assert urlsplit(url).netloc != urlsplit(running.base_url).netloc
    assert download.content == one_file.audio.read_bytes()
    assert download.headers["x-amz-request-id"]
    assert [answer.status_code for answer in (stretched, unsigned, late)] == [403, 403, 403]


def test_an_interpretation_goes_from_pending_to_ready(
    api: httpx.Client, issue: Issue, later: Callable[[float], None]
) -> None:
    """A pending one has a wait, a ready one has a text."""
    path = f"/proofs/{issue().proof_id}/interpretation"

    at_first = api.get(path).json()
    later(10)
    at_last = api.get(path).json()

    assert at_first == {"status": "pending", "retryAfterSeconds": 2}
    assert (at_last["status"], bool(at_last["text"])) == ("ready", True)
