import json
from collections.abc import Callable
from pathlib import Path
from random import Random

import httpx
import pytest

import proofsweep_sandbox as sandbox
from proofsweep_sandbox.samples import sounds

Issue = Callable[..., sandbox.Issued]
Sound = Callable[[float, Random], bytes]


BROKEN = {
    "rf64": lambda wav: b"RF64" + wav[4:],
    "riff size zero": lambda wav: wav[:4] + bytes(4) + wav[8:],
    "truncated": lambda wav: wav[:-10],
    "data too large": lambda wav: wav[:40] + b"\xff\xff\xff\x7f" + wav[44:],
    "no data": lambda wav: b"RIFF" + (28).to_bytes(4, "little") + wav[8:36],
    "short": lambda wav: wav[:10],
    "avi": lambda wav: wav.replace(b"WAVE", b"AVI "),
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


@pytest.mark.parametrize("sound", [sounds.mp3, sounds.aiff, sounds.m4a, sounds.caf, sounds.wav])
def test_any_audio_gets_a_sidecar(operator: sandbox.Operator, tmp_path: Path, sound: Sound) -> None:
    """A legacy pair binds any bytes."""
    audio = tmp_path / "take 1"
    audio.write_bytes(sound(0.05, Random(3)))  # noqa: S311 - a sound, not a secret

    issued = operator.issue(audio, tmp_path, legacy=True)

    assert issued.audio == audio
    assert issued.sidecar == tmp_path / "take 1.sidecar"
    assert json.loads(issued.sidecar.read_bytes())["document"]["proofId"] == issued.proof_id


def test_a_copy_never_overwrites_its_original(operator: sandbox.Operator, wav: Path) -> None:
    """The original does not change."""
    before = wav.read_bytes()

    with pytest.raises(sandbox.OperatorError):
        operator.issue(wav, wav.parent)

    assert wav.read_bytes() == before


def test_empty_audio_is_refused(operator: sandbox.Operator, tmp_path: Path) -> None:
    """A proof needs audio."""
    audio = tmp_path / "empty.wav"
    audio.touch()

    with pytest.raises(sandbox.OperatorError):
        operator.issue(audio, tmp_path, legacy=True)


def test_an_unregistered_proof_leaves_no_file(
    running: sandbox.Running, operator: sandbox.Operator, wav: Path, tmp_path: Path
) -> None:
    """The answer is the only credentialed copy."""
    issued = operator.issue(wav, tmp_path / "copy.wav", registered=False)

    with pytest.raises(sandbox.OperatorError):
        operator.erase(issued.proof_id)
    assert not list((running.key_file.parent / "assets").glob(f"{issued.proof_id}*"))


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
