from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

import proofsweep_sandbox as sandbox

Issue = Callable[..., sandbox.Issued]

BROKEN = {
    "rf64": lambda wav: b"RF64" + wav[4:],
    "riff size zero": lambda wav: wav[:4] + bytes(4) + wav[8:],
    "truncated": lambda wav: wav[:-10],
}


@pytest.mark.parametrize("how", BROKEN)
def test_a_broken_wav_gets_no_one_file_credential(
    operator: sandbox.Operator, wav: Path, tmp_path: Path, how: str
) -> None:
    """A signature over a broken WAV protects nothing, so the operator gets an error."""
    wav.write_bytes(BROKEN[how](wav.read_bytes()))

    with pytest.raises(sandbox.OperatorError):
        operator.issue(wav, tmp_path / "sealed.wav")

    assert not (tmp_path / "sealed.wav").exists()


def test_the_operator_lists_every_secret(
    running: sandbox.Running, operator: sandbox.Operator, api: httpx.Client, issue: Issue
) -> None:
    """Keys, sidecars in base64, the URLs and fields of slots, and links."""
    proof = f"/proofs/{issue().proof_id}"
    slot = api.post("/uploads").json()
    given = {
        running.api_key,
        api.headers["x-api-key"],
        api.get(proof).json()["sidecar"],
        api.get(f"{proof}/asset").json()["url"],
        api.post("/partner/keys/rotate", headers={"idempotency-key": "k" * 16}).json()["apiKey"],
        slot["url"],
        slot["fields"]["policy"],
        slot["fields"]["x-amz-signature"],
    }

    assert given <= set(operator.secrets())
