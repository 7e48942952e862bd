"""`verify` leaves out what is answered, or spends its calls on what was tried longest ago."""

import json
import os
from pathlib import Path

import pytest

from ..worlds.sandbox_world import Samples, SandboxWorld

pytestmark = pytest.mark.usefixtures("without_prefect")

FILES = 5


@pytest.fixture
def catalog(world: SandboxWorld, samples: Samples) -> Path:
    return world.deliver(samples.one_files[:FILES])


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

    os.utime(catalog / "03.wav", (1, 1))
    assert world.run("verify", str(catalog), "--since-last") == 0
    assert "1 row, 1 to send, 4 skipped" in capsys.readouterr().out
    assert world.files_by_run()[1] == ["03"]
    assert [leg["skipped"] for leg in sorted(world.table("runs"), key=lambda leg: str(leg["run_id"]))] == [0, 4]


def test_calls_go_to_what_was_tried_longest_ago(world: SandboxWorld, catalog: Path) -> None:
    """Three runs of two files each go round the catalog; each run is whole."""
    codes = [world.run("verify", str(catalog), "--oldest-first", "--max-calls", "7") for _ in range(3)]

    assert codes == [0, 0, 0]
    *first, (last, again) = world.files_by_run()
    assert first == [["00", "01"], ["02", "03"]]
    assert last == "04"
    assert again in {"00", "01"}
    assert {(leg["items"], leg["remaining"], leg["skipped"]) for leg in world.table("runs")} == {(2, 0, 3)}
