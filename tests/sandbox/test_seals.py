import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from proofsweep_sandbox.seals.chains import Chain
from proofsweep_sandbox.seals.identity import Condition, Finding, Identity, Signer
from proofsweep_sandbox.seals.one_file import OneFileSeals
from proofsweep_sandbox.seals.sidecars import SidecarSeals

IDENTITY = Identity(proof_id="prf_0123456789", song="Intro", created_at=1_700_000_000)
SHA256 = "a" * 64

Edit = Callable[[dict[str, Any]], object]


@pytest.fixture(scope="module")
def chains() -> dict[Signer, Chain]:
    """Three signing chains: ours, the devices', a stranger's."""
    return {signer: Chain.make(signer) for signer in Signer}


@pytest.fixture
def sealed(chains: dict[Signer, Chain], wav: Path, tmp_path: Path) -> Path:
    """A credentialed WAV of the service's."""
    target = tmp_path / "sealed.wav"
    target.write_bytes(OneFileSeals(chains).seal(wav.read_bytes(), IDENTITY, Signer.SERVICE))
    return target


def replaced(file: Path, old: bytes, new: bytes) -> None:
    """Replace bytes in a file by as many others, once."""
    content = file.read_bytes()
    assert old in content
    assert len(old) == len(new)
    file.write_bytes(content.replace(old, new, 1))


@pytest.mark.parametrize("signer", Signer)
def test_an_intact_manifest_tells_who_signed_what(
    chains: dict[Signer, Chain], wav: Path, tmp_path: Path, signer: Signer
) -> None:
    """The examination returns the signer and the identity."""
    seals, target = OneFileSeals(chains), tmp_path / "sealed.wav"
    target.write_bytes(seals.seal(wav.read_bytes(), IDENTITY, signer))

    assert seals.examine(target) == Finding(condition=Condition.INTACT, signer=signer, identity=IDENTITY)


def test_a_leaf_with_our_name_under_another_root_is_a_stranger(sealed: Path) -> None:
    """Names count only under our own roots."""
    elsewhere = OneFileSeals({signer: Chain.make(signer) for signer in Signer})

    assert elsewhere.examine(sealed).signer is Signer.STRANGER


@pytest.mark.parametrize(
    "alter",
    [
        lambda wav: wav[:100] + bytes([wav[100] ^ 0xFF]) + wav[101:],
        lambda wav: wav + b"\x00",
        lambda wav: wav[:-1],
        lambda wav: wav.replace(b"WAVEfmt ", b"WAVEjunk"),
    ],
    ids=["one bit flipped", "a byte appended", "a byte cut off", "the format chunk renamed"],
)
def test_audio_altered_after_signing_is_unreadable(
    chains: dict[Signer, Chain], sealed: Path, alter: Callable[[bytes], bytes]
) -> None:
    """The hard binding covers every byte outside the manifest."""
    sealed.write_bytes(alter(sealed.read_bytes()))

    assert OneFileSeals(chains).examine(sealed) == Finding(condition=Condition.UNREADABLE)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"prf_0123456789", b"prf_0123456780"),
        (b"createdAt", b"createdOn"),
        (b"verification-sandbox", b"verification-fandbox"),
    ],
    ids=["the identity", "an assertion's member", "the claim"],
)
def test_an_edited_manifest_is_altered(chains: dict[Signer, Chain], sealed: Path, old: bytes, new: bytes) -> None:
    """Assertions are hashed by the claim, and the claim is signed."""
    replaced(sealed, old, new)

    assert OneFileSeals(chains).examine(sealed) == Finding(condition=Condition.ALTERED)


@pytest.mark.parametrize("content", [b"", b"RIFF", b"hello, world", bytes(4096)])
def test_what_is_no_credentialed_wav_is_unreadable(chains: dict[Signer, Chain], tmp_path: Path, content: bytes) -> None:
    """No upload can make the examination raise."""
    file = tmp_path / "upload"
    file.write_bytes(content)

    assert OneFileSeals(chains).examine(file) == Finding(condition=Condition.UNREADABLE)


@pytest.mark.parametrize(("signer", "seen_as"), [(Signer.SERVICE, Signer.SERVICE), (Signer.DEVICE, Signer.DEVICE)])
def test_an_intact_sidecar_tells_who_signed_what(chains: dict[Signer, Chain], signer: Signer, seen_as: Signer) -> None:
    """The examination returns the signer and the identity."""
    seals = SidecarSeals(chains)

    finding = seals.examine(seals.seal(SHA256, IDENTITY, signer), SHA256)

    assert finding == Finding(condition=Condition.INTACT, signer=seen_as, identity=IDENTITY)


def test_other_audio_is_changed_audio(chains: dict[Signer, Chain]) -> None:
    """An intact document with another digest."""
    seals = SidecarSeals(chains)

    finding = seals.examine(seals.seal(SHA256, IDENTITY, Signer.SERVICE), "b" * 64)

    assert (finding.condition, finding.identity) == (Condition.AUDIO_CHANGED, IDENTITY)


@pytest.mark.parametrize(
    "edit",
    [
        lambda sealed: sealed["document"].update(song="Outro"),
        lambda sealed: sealed["document"].update(proofId="prf_other"),
        lambda sealed: sealed["document"].update(createdAt=1_700_000_001),
        lambda sealed: sealed["document"].update(audioSha256="b" * 64),
        lambda sealed: sealed["document"].update(added=True),
        lambda sealed: sealed["document"].pop("song"),
        lambda sealed: sealed.update(signature="AAAA"),
        lambda sealed: sealed.update(signature="no base64!"),
    ],
)
def test_an_edited_sidecar_is_altered(chains: dict[Signer, Chain], edit: Edit) -> None:
    """Any changed member, and a changed signature, also if the digest then matches the audio."""
    seals = SidecarSeals(chains)
    members = json.loads(seals.seal(SHA256, IDENTITY, Signer.SERVICE))
    edit(members)

    finding = seals.examine(json.dumps(members).encode(), "b" * 64)

    assert finding == Finding(condition=Condition.ALTERED)


@pytest.mark.parametrize(
    "sidecar",
    [
        b"",
        b"\xff\xfe",
        b"[]",
        b"{}",
        b'{"document": {}, "signature": ""}',
        b'{"document": 1}',
        b'{"document": {"song": "\\ud800"}}',
        pytest.param(b"[" * 200_000, id="nested without end"),
    ],
)
def test_what_is_no_proof_document_is_unreadable(chains: dict[Signer, Chain], sidecar: bytes) -> None:
    """No sidecar can make the examination raise."""
    assert SidecarSeals(chains).examine(sidecar, SHA256) == Finding(condition=Condition.UNREADABLE)
