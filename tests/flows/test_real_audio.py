"""Real audio files from elsewhere: each gets a verdict or a reason, and none is accepted."""

import os
from pathlib import Path

import pytest

from ..worlds.sandbox_world import SandboxWorld


@pytest.fixture
def corpus() -> Path:
    folder = os.environ.get("PROOFSWEEP_CORPUS")
    if not folder:
        pytest.skip("needs real audio files: set PROOFSWEEP_CORPUS to a folder of them")
    return Path(folder)


def test_no_foreign_file_is_accepted_and_none_is_lost(world: SandboxWorld, corpus: Path) -> None:
    """A scan of real and deliberately broken files ends with a row for each, and none of them accepted."""
    code = world.run("verify", str(corpus))

    rows = world.rows()
    assert code == 3
    assert len(rows) > 100
    assert not any(row["accepted"] for row in rows)
    assert all(row["verdict"] or row["reason"] for row in rows)
    assert {row["outcome"] for row in rows} == {"rejected", "ineligible"}
