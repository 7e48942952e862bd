"""Where a lane is shared, by the settings."""

from pathlib import Path

import pytest

from proofsweep.settings import load_settings
from proofsweep.wiring.lanes import lane_store


def test_a_lane_is_shared_in_the_results_store_or_in_a_place_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second is for processes that have a results store each."""
    monkeypatch.setenv("PROOFSWEEP_RESULTS__URL", str(tmp_path / "results"))
    assert lane_store(load_settings()).url == str(tmp_path / "results")

    monkeypatch.setenv("PROOFSWEEP_PACE__LANE_URL", str(tmp_path / "common"))

    assert lane_store(load_settings()).url == str(tmp_path / "common")
