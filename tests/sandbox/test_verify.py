import base64
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

import proofsweep_sandbox as sandbox

from .conftest import Issue, Verify


def test_a_valid_answer_quotes_the_record(verify: Verify, issue: Issue) -> None:
    """Id, song and time are the record's; report-only members are present; it is not publicly trusted."""
    issued = issue(song="Intro")

    answer = verify(issued.audio.read_bytes()).json()

    assert (answer["good"], answer["verdict"]) == (True, "valid")
    assert (answer["proofId"], answer["song"], answer["issuedAt"]) == (issued.proof_id, "Intro", issued.issued_at)
    assert answer["classification"]
    assert answer["grade"].keys() == {"human", "ai", "unknown", "riskCategory", "rubricVersion"}
    assert answer["embeddedCredential"]["publiclyTrusted"] is False


def test_verifying_again_gives_the_same_answer(api: httpx.Client, upload: Callable[[bytes], str], issue: Issue) -> None:
    """POST /verify has no side effects."""
    body = {"uploadId": upload(issue().audio.read_bytes())}

    first, second = (api.post("/verify", json=body).json() for _ in range(2))

    assert {**first, "interpretation": None} == {**second, "interpretation": None}


def test_a_sidecar_under_a_wrong_name_is_a_one_file_verification(
    api: httpx.Client, upload: Callable[[bytes], str], wav: Path, issue: Issue
) -> None:
    """Unknown members are ignored, so a pair with another field name is verified as one file."""
    issued = issue(legacy=True)
    assert issued.sidecar is not None
    sidecar = base64.b64encode(issued.sidecar.read_bytes()).decode()

    answer = api.post("/verify", json={"uploadId": upload(wav.read_bytes()), "proofFile": sidecar}).json()

    assert answer == {"good": False, "verdict": "unreadable"}


@pytest.mark.parametrize(
    "body",
    [
        b"not json",
        b"[]",
        b"{}",
        b'{"uploadId": 7}',
        b'{"uploadId": ""}',
        b'{"uploadId": "\\ud800"}',
        pytest.param(b"[" * 200_000, id="nested without end"),
        b'{"uploadId": "upl_1", "sidecar": null}',
        b'{"uploadId": "upl_1", "sidecar": "not base64!"}',
        b'{"uploadId": "upl_1", "sidecar": "_-__"}',
        b'{"uploadId": "upl_1", "sidecar": "AA\\nAA"}',
    ],
)
def test_a_malformed_body_is_a_400(api: httpx.Client, body: bytes) -> None:
    """The body is a JSON object with a string `uploadId` and an optional sidecar in standard base64."""
    answer = api.post("/verify", content=body)

    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_request")


def test_an_upload_of_another_tenant_does_not_exist(
    running: sandbox.Running, operator: sandbox.Operator, upload: Callable[[bytes], str]
) -> None:
    """An uploadId is valid for its own tenant only."""
    body, headers = {"uploadId": upload(b"some audio")}, {"x-api-key": operator.add_tenant("another").api_key}

    answer = httpx.post(f"{running.base_url}/verify", json=body, headers=headers, trust_env=False)

    assert answer.status_code == 404
