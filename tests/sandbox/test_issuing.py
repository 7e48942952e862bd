from pathlib import Path

import httpx
import pytest

import proofsweep_sandbox as sandbox
from proofsweep_sandbox.samples.kinds import KINDS

from .conftest import Issue

VERDICTS = {"valid", "audioChanged", "tampered", "unregistered", "unreadable", "local_seal"}


def test_a_catalog_has_every_kind_and_as_many_files_as_were_asked_for(running: sandbox.Running, tmp_path: Path) -> None:
    """One of each kind, the rest at random; all names differ and all files exist. The first six have every verdict."""
    samples = sandbox.write_catalog(tmp_path, running.operator, files=60)

    assert len({sample.audio for sample in samples}) == 60
    assert {sample.kind for sample in samples} == {kind.name for kind in KINDS}
    assert all(sample.audio.is_file() for sample in samples)
    assert all(sample.sidecar.is_file() for sample in samples if sample.sidecar)
    assert {kind.verdict for kind in KINDS[:6]} == VERDICTS


def test_a_broken_wav_gets_no_one_file_credential(operator: sandbox.Operator, wav: Path, tmp_path: Path) -> None:
    """A signature over a broken WAV protects nothing, so the operator gets an error."""
    whole = wav.read_bytes()
    for broken in (b"RF64" + whole[4:], whole[:4] + bytes(4) + whole[8:], whole[:-10]):
        wav.write_bytes(broken)

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
