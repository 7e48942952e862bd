"""`verify` leaves out what is answered, or spends its calls on what was tried longest ago."""

import json
import os
import shutil
from pathlib import Path

import pytest

from ..worlds.sandbox_world import Samples, SandboxWorld

pytestmark = pytest.mark.usefixtures("without_prefect")

FILES = 5


@pytest.fixture
def catalog(world: SandboxWorld, samples: Samples) -> Path:
    folder = world.folder / "catalog"
    folder.mkdir()
    chosen = [sample for sample in samples.valid if sample.sidecar is None and sample.audio.suffix == ".wav"]
    for number, sample in enumerate(chosen[:FILES]):
        shutil.copy(sample.audio, folder / f"{number}.wav")
    assert len(list(folder.iterdir())) == FILES
    return folder


def numbers_of(world: SandboxWorld, run: int) -> list[str]:
    """Return the names of the files that a run has verified, in their order."""
    run_id = sorted({row["run_id"] for row in world.table("verdicts")})[run]
    rows = [row for row in world.table("verdicts") if row["run_id"] == run_id]
    return [Path(row["audio"]).stem for row in sorted(rows, key=lambda row: int(row["manifest_row"]))]


def test_only_what_changed_since_its_answer_is_verified(
    world: SandboxWorld, catalog: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rows that are left out are counted, and said; without a change there is no run."""
    world.run("verify", str(catalog))
    charged = world.charged
    capsys.readouterr()

    assert world.run("verify", str(catalog), "--since-last") == 0
    assert "nothing is due" in capsys.readouterr().out
    assert world.run("verify", str(catalog), "--max-age", "30d", "--json") == 0
    assert json.loads(capsys.readouterr().out) == {"items": 0, "skipped": FILES}
    assert world.charged == charged

    os.utime(catalog / "3.wav", (1, 1))
    assert world.run("verify", str(catalog), "--since-last") == 0
    assert "1 row, 1 to send, 4 skipped" in capsys.readouterr().out
    assert numbers_of(world, 1) == ["3"]
    assert [leg["skipped"] for leg in sorted(world.table("runs"), key=lambda leg: str(leg["run_id"]))] == [0, 4]


def test_calls_go_to_what_was_tried_longest_ago(world: SandboxWorld, catalog: Path) -> None:
    """Three runs of two files each go round the catalog; each run is whole."""
    codes = [world.run("verify", str(catalog), "--oldest-first", "--max-calls", "7") for _ in range(3)]

    assert codes == [0, 0, 0]
    assert [numbers_of(world, run) for run in range(2)] == [["0", "1"], ["2", "3"]]
    last, again = numbers_of(world, 2)
    assert last == "4"
    assert again in {"0", "1"}
    assert {(leg["items"], leg["remaining"], leg["skipped"]) for leg in world.table("runs")} == {(2, 0, 3)}
