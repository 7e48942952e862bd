"""Equal bytes are verified once, and each of their rows has the answer."""

import shutil
from collections import Counter

import pytest

from ..worlds.sandbox_world import Samples, SandboxWorld

pytestmark = pytest.mark.usefixtures("without_prefect")


@pytest.fixture
def copies(world: SandboxWorld, samples: Samples) -> list[tuple[str, str]]:
    """Rows of two genuine files, one of them a pair; copies of both; and rows that differ in a byte or a sidecar."""
    files = samples.files
    one_file = next(each for each in files if each.verdict == "valid" and each.sidecar is None)
    pair = next(each for each in files if each.verdict == "valid" and each.sidecar is not None)
    other = next(each for each in files if each.sidecar is not None and each.sidecar != pair.sidecar)
    near = world.folder / "near.wav"
    content = bytearray(one_file.audio.read_bytes())
    content[-1] ^= 1
    near.write_bytes(content)
    copy = world.folder / "copy.wav"
    shutil.copy(one_file.audio, copy)
    rows = [
        (one_file.audio, ""),
        (copy, ""),
        (one_file.audio, ""),
        (near, ""),
        (pair.audio, pair.sidecar),
        (pair.audio, pair.sidecar),
        (pair.audio, other.sidecar),
        (pair.audio, pair.sidecar),
    ]
    return [(str(audio), str(sidecar)) for audio, sidecar in rows]


@pytest.fixture
def catalog(world: SandboxWorld, copies: list[tuple[str, str]]) -> str:
    path = world.folder / "copies.csv"
    path.write_text("audio,sidecar\n" + "".join(f"{audio},{sidecar}\n" for audio, sidecar in copies))
    return str(path)


def test_equal_bytes_are_verified_once(world: SandboxWorld, catalog: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other rows have the same answer and request IDs and no call; one other byte is another file."""
    monkeypatch.setenv("PROOFSWEEP_CATALOG__DEDUPE", "true")

    code = world.run("verify", catalog)

    rows = world.rows()
    alike = ("outcome", "verdict", "audio_sha256", "sidecar_sha256", "answer_sha256", "proof_id", "verify_request_id")
    said = [tuple(row[name] for name in alike) for row in rows]
    originals = {row["manifest_row"] for row in rows if row["answered_by_row"] is None}
    verified = Counter(each["manifest_row"] for each in world.table("exchanges") if each["call"] == "verify")
    assert code == 3
    assert said[0] == said[1] == said[2] != said[3]
    assert said[4] == said[5] == said[7] != said[6]
    assert len(originals & {0, 1, 2}) == len(originals & {4, 5, 7}) == 1
    assert originals >= {3, 6}
    assert verified == dict.fromkeys(originals, 1)
    assert all(row["answered_by_row"] in originals for row in rows if row["manifest_row"] not in originals)
    assert {(row["calls"], row["verify_attempts"]) for row in rows if row["answered_by_row"] is not None} == {(0, 0)}


def test_a_failure_is_not_shared(world: SandboxWorld, catalog: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the first of equal files gets no verdict, the next one is verified by itself."""
    monkeypatch.setenv("PROOFSWEEP_CATALOG__DEDUPE", "true")
    monkeypatch.setenv("PROOFSWEEP_PACE__WORKERS", "1")
    world.operator.add_fault("verify", "status", status=400, code="invalid_request", count=2)  # one retry

    code = world.run("verify", catalog)

    rows = world.rows()
    failed = [row["manifest_row"] for row in rows if row["outcome"] == "failed"]
    assert code == 4
    assert len(failed) == 1
    assert failed[0] not in {row["answered_by_row"] for row in rows}
