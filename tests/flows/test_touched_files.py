"""All times of a catalog shift by an hour, as with FAT, SMB or daylight saving: the same bytes cost no call."""

import os
from pathlib import Path

import pytest

from ..worlds.sandbox_world import Samples, SandboxWorld

pytestmark = pytest.mark.usefixtures("without_prefect")

ANSWER = (
    "outcome",
    "verdict",
    "proof_id",
    "song",
    "issued_at",
    "grade_json",
    "embedded_credential_json",
    "finished_at",
)
IDS = ("uploads_request_id", "verify_request_id", "storage_request_id", "answer_sha256", "audio_sha256")


@pytest.fixture
def catalog(world: SandboxWorld, samples: Samples) -> Path:
    rejected = [sample for sample in samples.files if sample.verdict not in {None, "valid"}]
    return world.deliver([*samples.valid[:6], *rejected[:2]])


def shift(catalog: Path) -> None:
    for path in catalog.iterdir():
        os.utime(path, (path.stat().st_atime, path.stat().st_mtime - 3600))


def runs_with_calls(world: SandboxWorld) -> set[str]:
    return {row["run_id"] for row in world.table("exchanges") if row["manifest_row"] is not None}


def test_files_with_another_time_and_the_same_bytes_cost_no_call(
    world: SandboxWorld, catalog: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each has its answer again, as old as it is; the night after, nothing is due."""
    option = ("--max-age", "30d")
    codes = [world.run("verify", str(catalog))]
    shift(catalog)
    codes.append(world.run("verify", str(catalog), *option))

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
    assert world.run("verify", str(catalog), *option) == 0
    assert "nothing is due" in capsys.readouterr().out
    assert world.run("audit") == 0


def test_other_bytes_of_the_same_size_are_sent(world: SandboxWorld, catalog: Path) -> None:
    """So is a pair whose sidecar has other bytes; a second shift still names the run that called."""
    world.run("verify", str(catalog))
    changed = next(path for path in sorted(catalog.glob("*.wav")) if not Path(f"{path}.sidecar").exists())
    content = changed.read_bytes()
    changed.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    sidecar = next(catalog.glob("*.sidecar"))
    sidecar.write_bytes(sidecar.read_bytes() + b"\n")
    shift(catalog)
    world.run("verify", str(catalog), "--since-last")
    shift(catalog)
    world.run("verify", str(catalog), "--since-last")

    rows = world.table("verdicts")
    one, two, three = sorted({row["run_id"] for row in rows})
    sent = [Path(row["audio"]).name for row in rows if (row["run_id"], row["answered_by_run"]) == (two, None)]
    assert {*sent} == {changed.name, sidecar.stem}
    assert {row["answered_by_run"] for row in rows if row["run_id"] == three} == {one, two}
    assert runs_with_calls(world) == {one, two}
