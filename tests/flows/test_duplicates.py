"""Equal bytes are verified once, in one run and over nights, and each of their rows has the answer."""

import os
import shutil
from collections import Counter
from pathlib import Path

import pytest

from ..worlds.sandbox_world import Samples, SandboxWorld

pytestmark = pytest.mark.usefixtures("without_prefect")


@pytest.fixture
def catalog(world: SandboxWorld, samples: Samples) -> str:
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
    path = world.folder / "copies.csv"
    path.write_text("audio,sidecar\n" + "".join(f"{audio},{sidecar}\n" for audio, sidecar in rows))
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


ANSWER = ("outcome", "verdict", "proof_id", "song", "issued_at", "grade_json", "embedded_credential_json")
IDS = ("finished_at", "uploads_request_id", "verify_request_id", "storage_request_id", "answer_sha256", "audio_sha256")


@pytest.fixture
def folder(world: SandboxWorld, samples: Samples) -> Path:
    rejected = [sample for sample in samples.files if sample.verdict not in {None, "valid"}]
    return world.deliver([*samples.valid[:6], *rejected[:2]])


def shift(folder: Path) -> None:
    for path in folder.iterdir():
        os.utime(path, (path.stat().st_atime, path.stat().st_mtime - 3600))


def runs_with_calls(world: SandboxWorld) -> set[str]:
    return {row["run_id"] for row in world.table("exchanges") if row["manifest_row"] is not None}


def test_only_other_bytes_are_sent_of_files_with_another_time(
    world: SandboxWorld, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each other has its answer again, as old as it is, and names the run that called; then nothing is due.

    Bytes of the same size are others, and so are a pair whose sidecar has other bytes.
    """
    option = ("--max-age", "30d")
    codes = [world.run("verify", str(folder))]
    shift(folder)
    codes.append(world.run("verify", str(folder), *option))

    rows = world.table("verdicts")
    one, two = sorted({row["run_id"] for row in rows})
    before, after = ([row for row in rows if row["run_id"] == run_id] for run_id in (one, two))
    cells = [sorted((*(str(row[name]) for name in (*ANSWER, *IDS)),) for row in each) for each in (before, after)]
    assert codes == [3, 3]
    assert cells[0] == cells[1]
    assert {(row["answered_by_run"], row["calls"], row["answered_by_row"]) for row in after} == {(one, 0, None)}
    assert {row["answered_by_run"] for row in before} == {None}
    assert runs_with_calls(world) == {one}
    capsys.readouterr()
    assert world.run("verify", str(folder), *option) == 0
    assert "nothing is due" in capsys.readouterr().out

    changed = next(path for path in sorted(folder.glob("*.wav")) if not Path(f"{path}.sidecar").exists())
    content = changed.read_bytes()
    changed.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    sidecar = next(folder.glob("*.sidecar"))
    sidecar.write_bytes(sidecar.read_bytes() + b"\n")
    shift(folder)
    world.run("verify", str(folder), "--since-last")
    shift(folder)
    world.run("verify", str(folder), "--since-last")

    rows = world.table("verdicts")
    _, _, three, four = sorted({row["run_id"] for row in rows})
    sent = [Path(row["audio"]).name for row in rows if (row["run_id"], row["answered_by_run"]) == (three, None)]
    assert {*sent} == {changed.name, sidecar.stem}
    assert {row["answered_by_run"] for row in rows if row["run_id"] == four} == {one, three}
    assert runs_with_calls(world) == {one, three}
    assert world.run("audit") == 0


def test_a_file_whose_proof_was_erased_is_sent_again(
    world: SandboxWorld, samples: Samples, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With another time too, though its bytes were accepted: that answer answers nothing any more. The others stay."""
    key = world.operator.add_tenant(tmp_path.name)
    (tmp_path / "own-key").write_text(key.api_key)
    monkeypatch.setenv("PROOFSWEEP_SERVICE__API_KEY_FILE", str(tmp_path / "own-key"))
    folder, bare = tmp_path / "music", next(each.audio for each in samples.valid if each.sidecar is None)
    folder.mkdir()
    issued = [world.operator.issue(bare, folder / f"{number}.wav", tenant=key.tenant).proof_id for number in range(3)]
    codes = [world.run("verify", str(folder))]
    for number in (0, 2):
        os.utime(folder / f"{number}.wav", (0, 0))

    codes.append(world.run("proofs", "erase", *issued[:2], "--yes-erase", "2"))
    codes.extend(world.run("verify", str(folder), "--since-last") for _ in range(2))

    rows = world.table("verdicts")[3:]
    said = sorted((Path(row["audio"]).name, row["verdict"], row["calls"]) for row in rows)
    assert codes == [0, 0, 3, 0]
    assert said == [("0.wav", "unregistered", 2), ("1.wav", "unregistered", 2), ("2.wav", "valid", 0)]
